/** Checks what the daemons are doing: alive, with every shard owned, not behind, and nothing stuck on the way out. */

import { isUntried } from '../../domain/deliveries/subscriber-health.ts';
import { afterFailures, isAskedFor } from '../../domain/deliveries/subscriber-state.ts';
import { untilText } from '../../domain/explain/standing.ts';
import { asksForComparison, COMPARE, changeText, lostSince } from '../../domain/incidents/database-loss.ts';
import { REPLICA_WORDS, replicaRemedy } from '../../domain/incidents/replica-trouble.ts';
import { type FirstPolls, withinText } from '../../domain/polling/first-polls.ts';
import { MOST_UNPOLLED, unpolledAdvice, unpolledText } from '../../domain/polling/unpolled.ts';
import { unwritableText } from '../../domain/replicas/daemon-silence.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { counted } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { clause, inBrackets } from '../../domain/values/errors.ts';
import { sentence } from '../../domain/values/sentence.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { waitingOf } from '../../postgres/reports/overview.ts';
import type { LivingReplica } from '../../postgres/shards/living-replicas.ts';
import type { StoredSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { differText, replicasDiffer } from '../running-replicas.ts';
import type { OverviewFacts } from './facts.ts';
import { type Finding, type Reporter, reporterOf } from './finding.ts';

/** Polls are made within seconds of their time; what is later than this waits for something. */
const POLLS_LATE: Milliseconds = 60_000;
/** A receiver that is well takes what is due at once. */
const STUCK: Milliseconds = 300_000;

export interface Tested {
  /** Whether those that are left alone got no test event, as everybody else did. */
  readonly untested: boolean;
}

/** Findings from facts of the database, by their subject; those that are `ok` too. Pure. */
export function daemonFindings(report: Reporter, facts: OverviewFacts, tested: Tested) {
  return {
    running: [facts.replicas.length === 0 ? noDaemon(report, facts) : owning(report, facts)],
    replicas: [...otherSettings(report, facts.replicas), ...troubles(report, facts)],
    database: databaseChanges(facts),
    sites: [...lateness(facts), ...failingSites(facts)],
    receivers: [...missedSubscribers(facts), ...outbox(facts, tested)],
  };
}

function noDaemon(report: Reporter, { silence, now }: OverviewFacts): Finding {
  const since = silence.silentMs === null ? null : now - silence.silentMs;
  if (!silence.takesWrites)
    return report.failed(
      unwritableText(silence),
      'do not start another one; daemons go on by themselves once the database takes writes',
      { what: 'No daemon works: the database takes no writes', since, why: 'Nothing is polled, recorded or sent' },
    );
  return report.warning('none is running on this database', 'nothing is polled or sent until you run "purchase-watch start"', {
    what: 'No daemon runs on this database',
    since,
    why: 'No purchase is polled and no person is alerted',
  });
}

function owning(report: Reporter, { replicas, unowned }: OverviewFacts): Finding {
  const found = `${replicas.length === 1 ? 'one daemon is' : `${replicas.length} daemons are`} running`;
  if (unowned === 0) return report.ok(`${found}, every shard has an owner`);
  return report.warning(
    `${found}, ${unowned} of 64 shards have no owner`,
    'right after a start or a crash this is over in seconds; otherwise look at the log',
    { what: `${unowned} of 64 shards have no owner`, since: null, why: 'The purchases and deliveries in them wait' },
  );
}

const SAME_SETTINGS =
  'during a deploy this is over with the last old daemon; otherwise give every daemon the same settings file and variables, and restart those that have others';

/** Daemons that differ among each other, said at once; people are alerted after some minutes. */
function otherSettings(report: Reporter, alive: readonly LivingReplica[]): Finding[] {
  const differ = replicasDiffer(alive);
  return differ === null ? [] : [report.warning(differText(differ), SAME_SETTINGS)];
}

/** Troubles that daemons recorded of themselves; the judge makes an incident of kind `replica` of the same rows. */
function troubles(report: Reporter, { troubles: found, now }: OverviewFacts): Finding[] {
  return found.map(({ replica, host, reason, since, error }) => {
    const long = humanDuration(Math.max(Math.round(now - since), 0));
    const { wrong } = REPLICA_WORDS[reason];
    const brief = { what: `${host}: ${wrong}`, since, why: error === null ? null : clause(error) };
    return report.failed(
      `${replica} on ${host}: ${wrong} for ${long}${inBrackets(error)}`,
      replicaRemedy({ reason, error }),
      brief,
    );
  });
}

/** Whether the database is the one that daemons wrote to: said until a person notes that what was lost was compared. */
function databaseChanges({ changes }: OverviewFacts): Finding[] {
  const report = reporterOf('database');
  return changes.map((change) => {
    const since = lostSince(change);
    if (!asksForComparison(change)) return report.ok(changeText(change));
    const brief =
      change.kind === 'went_back'
        ? { what: 'The database came back without its last writes', why: 'What was written since then is missing' }
        : {
            what: 'The database was moved, restored or taken over while no daemon ran',
            why: 'Whether it lost writes is not known',
          };
    return report[change.kind === 'went_back' ? 'failed' : 'warning'](changeText(change), COMPARE, { ...brief, since });
  });
}

function lateness({ sites, lags, firsts, replicas, now }: OverviewFacts): Finding[] {
  return lags.flatMap(({ site, due, atLeast, oldest, oldestSingle }) => {
    const row = sites.find(({ name }) => name === site);
    if (oldest < POLLS_LATE || (row?.unpolled ?? 0) > 0) return [];
    const report = reporterOf(`site ${site}`);
    const found = `${due}${atLeast ? ' or more' : ''} of its purchases are due, the oldest for ${humanDuration(Math.round(oldest))}`;
    if (replicas.length === 0) return [report.warning(found, 'no daemon polls them: see what is said of daemons')];
    if (row?.failingSince != null) return [report.warning(found, 'they are polled once the site answers')];
    const polls = firsts.find((each) => each.site === site && each.waiting > 0);
    if (polls !== undefined && oldestSingle < POLLS_LATE) return [report.ok(`${found}; ${behindBulk(polls)}`)];
    const what = `${counted(due, 'poll', 'polls', atLeast ? due : null)} of ${site} ${due === 1 ? 'is' : 'are'} late`;
    return [report.warning(found, TOO_MANY, { what, since: now - oldest, why: null })];
  });
}

const TOO_MANY =
  'maxRps of the site is too low for its purchases, or no daemon was running until a moment ago: "purchase-watch status" and "purchase-watch plan" show which';

/** The sentence about late polls that are all of purchases registered in bulk. */
function behindBulk(polls: FirstPolls): string {
  return `they were registered in bulk, and ${counted(polls.waiting, 'first poll')} of bulk registrations are to come, ${withinText(polls)}; a higher maxRps makes it shorter`;
}

function failingSites({ sites }: OverviewFacts): Finding[] {
  return sites.flatMap((site) => {
    const { name, configured, renamedTo, unpolled, failingSince, lastError } = site;
    const report = reporterOf(`site ${name}`);
    if (unpolled > 0) {
      const moves = renamedTo !== null && failingSince === null && site.lockedBy === null;
      const brief = { what: sentence(unpolledText(site)), since: failingSince, why: null };
      return [report[moves ? 'warning' : 'failed'](unpolledText(site), unpolledAdvice(site), brief)];
    }
    if (!configured || failingSince === null) return [];
    const brief = { what: `No purchase of ${name} can be read`, since: failingSince, why: reasonText(lastError) };
    return [report.warning(`its polls fail: ${lastError ?? 'no reason is known'}`, 'see what else is said of this site', brief)];
  });
}

/** Subscribers of the settings that no running daemon names: nothing is sent to them, and soon no event is made for them. */
function missedSubscribers({ unnamed }: OverviewFacts): Finding[] {
  return unnamed.map(({ name, waiting }) => {
    const report = reporterOf(`receiver ${name}`);
    const waits = waitText(waiting, waiting >= MOST_UNPOLLED);
    const found = `no running daemon has it in its settings; ${waits}`;
    if (waiting === 0) return report.ok(found);
    const todo =
      'name it in the settings again, or leave it: ten minutes after the last daemon named it, it is not configured any more';
    const what = `No running daemon has ${name} in its settings`;
    return report.warning(found, todo, { what, since: null, why: sentence(waits) });
  });
}

function outbox({ waiting, subscribers, now }: OverviewFacts, { untested }: Tested): Finding[] {
  return subscribers.flatMap((subscriber) => {
    const { id, name, audience } = subscriber;
    const { pending, inFlight, parked, atLeast, dueSince } = waitingOf(waiting, id);
    const waits = waitText(pending + inFlight + parked, atLeast);
    const spared = untested && audience !== 'people' && isLeftAlone(subscriber, now);
    const found = spared ? `${waits}; it was sent no test event` : waits;
    const resting = subscriberTrouble(subscriber, now, spared);
    // A receiver that asked for a rest is well, unless its deliveries wait for long.
    const trouble = resting?.todo == null ? (lateTrouble(dueSince, now) ?? resting) : resting;
    if (trouble === null) return [];
    const text = trouble.isAboutWaiting ? `${found}, ${trouble.wrong}` : `${trouble.wrong}; ${found}`;
    const report = reporterOf(`receiver ${name}`);
    if (trouble.todo === null) return [report.ok(text)];
    const count = pending + inFlight + parked;
    const left = count === 0 ? '' : `; ${countText(count, atLeast)} ${parked > 0 ? are(count, 'parked') : waitWord(count)}`;
    const { since = null, why = null } = trouble;
    return [report.warning(text, trouble.todo, { what: `${name} ${trouble.what}${left}`, since, why })];
  });
}

/** Whether nothing is to be sent to one, not even a test: it is switched off, or its pause lasts. */
export function isLeftAlone({ status, health }: Pick<StoredSubscriber, 'status' | 'health'>, now: Instant): boolean {
  return status === 'off' || (health?.pausedUntil ?? 0) > now;
}

interface Trouble {
  readonly wrong: string;
  /** The trouble in short, behind the subscriber's name; with its beginning and its reason where they are known. */
  readonly what: string;
  readonly since?: Instant | null;
  readonly why?: string;
  /** Null where the daemon goes on by itself. */
  readonly todo: string | null;
  /** Whether the trouble is about how long deliveries have waited. */
  readonly isAboutWaiting?: true;
}

/** Why a subscriber gets nothing at present, or null. `spared`: it was sent no test event for that reason. */
function subscriberTrouble(subscriber: StoredSubscriber, now: Instant, spared: boolean): Trouble | null {
  const { name, audience, status, statusReason, health, unreached } = subscriber;
  const anyway = spared ? '; to send it one all the same: "purchase-watch doctor --all"' : '';
  if (status === 'off') {
    // Only another address helps a channel for people.
    const todo =
      audience === 'people'
        ? 'give it another address in the settings'
        : `if it is to get events again, see that it takes events and switch it on: "${commandLine`subscribers change ${name} --status active`}"${anyway}`;
    const why = reasonText(statusReason);
    return { wrong: `it is switched off (${why})`, todo, what: 'is switched off', why };
  }
  const atOnce = `its waiting deliveries are then sent in order, at once with "${commandLine`subscribers resume ${name}`}"`;
  if (health?.pausedUntil != null) {
    const until = health.pausedUntil > now ? `until ${untilText(health.pausedUntil, now)}` : 'and being tried again';
    const wrong = `it is paused ${until} ${afterFailures(health.failures)} (${reasonText(health.lastError)})`;
    const what = audience === 'people' ? 'takes no messages' : 'gets no events';
    if (isAskedFor(health))
      return { wrong: `${wrong}, and then gets its waiting deliveries in order${anyway}`, todo: null, what };
    const next = health.pausedUntil > now ? `in ${humanDuration(Math.round(health.pausedUntil - now))}` : 'now';
    const why = `${reasonText(health.lastError)}, ${health.failures} times in a row. It is tried again ${next}`;
    return { wrong, todo: `mend the receiver; ${atOnce}${anyway}`, what, since: health.failingSince, why };
  }
  if (unreached === null) return null;
  const long = humanDuration(Math.max(Math.round(now - unreached.since), 0));
  const why = reasonText(unreached.error);
  const { since } = unreached;
  if (isUntried(unreached)) {
    const wrong = `a daemon has sent nothing to it for ${long} (${why})`;
    return { what: 'gets nothing: a daemon cannot use what is stored of it', since, why, wrong, todo: SAME_KEY };
  }
  const todo = `mend the name server, the proxy or the network of this machine; ${atOnce}`;
  const wrong = `nothing gets through to it for ${long}, for a reason on this side (${why})`;
  return { what: 'is not reached, for a reason on this side', since, why, wrong, todo };
}

const SAME_KEY =
  'give every daemon the same settings, the SECRETS_KEY above all under which it was added, and restart them; waiting deliveries are then sent in order';

function lateTrouble(dueSince: Instant | null, now: Instant): Trouble | null {
  if (dueSince === null || now - dueSince < STUCK) return null;
  const wrong = `the oldest could have gone ${humanDuration(Math.round(now - dueSince))} ago`;
  return { wrong, todo: 'see "purchase-watch deliveries"', isAboutWaiting: true, what: 'gets its events late', since: dueSince };
}

/** A sentence within a sentence. */
function reasonText(error: string | null): string {
  return clause(error ?? 'no reason is known');
}

const countText = (count: number, atLeast: boolean): string => counted(count, 'delivery', 'deliveries', atLeast ? count : null);
const are = (count: number, word: string): string => `${count === 1 ? 'is' : 'are'} ${word}`;
const waitWord = (count: number): string => (count === 1 ? 'waits' : 'wait');

function waitText(count: number, atLeast: boolean): string {
  return count === 1 && !atLeast ? '1 delivery waits' : `${count}${atLeast ? ' or more' : ''} deliveries wait`;
}
