/** Asks for what is due, decides, and hands the outcome to the recorder. */
import { afterAnswer, allowance, type Breaker, CLOSED, probeSent } from '../core/breaker.ts';
import { decide } from '../core/decide.ts';
import type { Ownership } from '../core/ownership.ts';
import type { PollPolicy } from '../core/poll-plan.ts';
import type { Milliseconds, Observation } from '../core/purchase.ts';
import { namedState } from '../core/states.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sql } from '../store/database.ts';
import { dropNudges, dueSlot, loadDue, loadPurchases, type QueuedPurchase, takeNudged } from '../store/queue.ts';
import { reportSite } from '../store/sites.ts';
import { type Budget, createBudget } from './budget.ts';
import { createRecorder, type Job } from './recorder.ts';
import { createWindow, type Entry } from './window.ts';

/** What the poller needs of a site. */
export interface PolledSite {
  readonly name: string;
  /** Calls a second over all replicas together. */
  readonly maxRps: number;
  /** Calls in flight of this replica. */
  readonly concurrency: number;
  readonly timeout: Milliseconds;
  pollStatus(purchaseId: string): Promise<Observation>;
}

export interface PollerOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ownership: Ownership;
  readonly sites: readonly PolledSite[];
  readonly policy: PollPolicy;
  /** Jitter in [-1, 1]. */
  spread(): number;
  /** Purchases in memory at most. */
  readonly capacity: number;
  /** Events were committed: somebody may have something to tell. */
  onEvents(): void;
  /** Something happened that the judge looks at. */
  onSymptom(): void;
  /** Asks for a tick soon. */
  wake(): void;
}

export interface Poller {
  /** Reads what became due or changed from outside, and starts what may start; answers how long to rest. */
  tick(): Promise<Milliseconds>;
  /** Polls everything that is due now, once, and waits until it is recorded. For tests and for a last look. */
  pollDue(): Promise<void>;
  /** Starts nothing any more and waits for what is under way. */
  stop(): Promise<void>;
  size(): number;
}

interface Lane {
  readonly site: PolledSite;
  readonly budget: Budget;
  breaker: Breaker;
  inFlight: number;
  lastSuccessAt: number | null;
  reportedAt: Milliseconds;
  failing: boolean;
}

/** Without a wake-up, look for changes from outside this often: a lost notification costs this much at most. */
const SWEEP: Milliseconds = 5_000;
/** While more is due than memory holds, look for room this often. */
const MAKING_ROOM: Milliseconds = 50;
/** Tell the database at most this often that a site answers. */
const REPORT_EVERY: Milliseconds = 5_000;
/** Answers that wait to be written; beyond it nothing new is asked. */
const MOST_UNWRITTEN = 4_000;
/** What cannot be recorded must not be asked for again and again: rests after failed writes grow from one to the other. */
const FIRST_PAUSE: Milliseconds = 1_000;
const LONGEST_PAUSE: Milliseconds = 30_000;
/** A single purchase that cannot be recorded is left alone for so long. */
const POISON_REST: Milliseconds = 60_000;
const NUDGES_AT_ONCE = 5_000;
const ROWS_PER_SHARD = 1_000;
const SPACING_AT_MOST: Milliseconds = 200;
/** Events after which the judge looks. */
const SYMPTOMS: ReadonlySet<string> = new Set(['purchase.stuck', 'purchase.recovered', 'purchase.expired']);
/** A poll (a token and a call, each within the time-out) and its recording must end before the lease does. */
const TIME_TO_RECORD: Milliseconds = 2_000;

export function createPoller(options: PollerOptions): Poller {
  const { sql, clock, log, ownership, policy, spread, onEvents, onSymptom, wake } = options;
  const window = createWindow({ capacity: options.capacity, epochOf: ownership.epochOf });
  const lanes = new Map<string, Lane>();
  for (const site of options.sites) {
    const budget = createBudget(clock.monotonic);
    lanes.set(site.name, {
      site,
      budget,
      breaker: CLOSED,
      inFlight: 0,
      lastSuccessAt: null,
      reportedAt: -REPORT_EVERY,
      failing: false,
    });
  }

  /** Shards whose nudges are older than what is about to be read. */
  const fresh = new Set<number>();
  /** Purchases whose rows are to be read again, and from when on. */
  const reread = new Map<number, Milliseconds>();
  /** Purchases that left the window while rows were being read: what was read of them may be older than what was written. */
  const written = new Set<number>();
  /** The database could not be written so many times in a row, and until when nothing is asked because of it. */
  let writeFailures = 0;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let loading = false;
  let stopped = false;
  let timer: { readonly handle: NodeJS.Timeout; readonly at: Milliseconds } | null = null;
  let idle: (() => void)[] = [];

  ownership.onChange(({ gained, lost }) => {
    window.drop(lost);
    window.gain(gained);
    for (const shard of gained) fresh.add(shard);
  });

  // Asking ----------------------------------------------------------------------------------------------------------

  const asking = (): number => {
    let total = 0;
    for (const lane of lanes.values()) total += lane.inFlight;
    return total;
  };

  /** Starts whatever may start now; answers after how long there may be more, if no answer comes before. */
  const pump = (): Milliseconds => {
    if (stopped) return Number.POSITIVE_INFINITY;
    if (clock.monotonic() < pausedUntil) return pausedUntil - clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const lane of lanes.values()) next = Math.min(next, pumpSite(lane));
    return next;
  };

  /** Pumps, and again when there may be more. */
  const pumpOn = (): void => {
    const next = pump();
    if (next === Number.POSITIVE_INFINITY) return;
    const at = clock.monotonic() + Math.min(Math.max(next, 1), SWEEP);
    // A timer that rings earlier serves as well; one that is set anew with every answer costs more than the poll's share.
    if (timer && timer.at <= at) return;
    cancelTimer();
    const handle = setTimeout(() => {
      timer = null;
      pumpOn();
    }, at - clock.monotonic());
    timer = { handle, at };
  };
  const cancelTimer = (): void => {
    if (timer) clearTimeout(timer.handle);
    timer = null;
  };

  /** Starts what one site may be asked now; answers after how long there may be more, if no answer comes before. */
  const pumpSite = (lane: Lane): Milliseconds => {
    const { site } = lane;
    for (;;) {
      if (lane.inFlight >= site.concurrency || recorder.pending() > MOST_UNWRITTEN) return Number.POSITIVE_INFINITY;
      const dueAt = window.nextDue(site.name);
      if (dueAt === null) return Number.POSITIVE_INFINITY;
      const now = clock.now();
      if (dueAt > now) return dueAt - now;
      const allowed = allowance(lane.breaker, clock.monotonic());
      if (allowed.kind === 'none') return allowed.until === null ? Number.POSITIVE_INFINITY : allowed.until - clock.monotonic();
      const entry = window.take(site.name, now)!;
      if (!ownership.mayBegin(entry.purchase.shard, 2 * site.timeout + TIME_TO_RECORD)) {
        // The lease is about to run out or the shard to be given away; the next renewal tells which.
        window.settle(entry, { purchase: entry.purchase, dueAt: now + 250, slot: entry.slot });
        continue;
      }
      const ceiling = site.maxRps * ownership.share();
      const wait = lane.budget.take(allowed.kind === 'limited' ? Math.min(ceiling, allowed.rate * ownership.share()) : ceiling);
      if (wait > 0) {
        window.settle(entry, { purchase: entry.purchase, dueAt: entry.dueAt, slot: entry.slot });
        return wait;
      }
      if (allowed.kind === 'probe') lane.breaker = probeSent(lane.breaker);
      void ask(lane, entry);
    }
  };

  const ask = async (lane: Lane, entry: Entry): Promise<void> => {
    const { shard } = entry.purchase;
    lane.inFlight += 1;
    ownership.begin(shard);
    const askedAt = clock.now();
    const seen = await lane.site.pollStatus(entry.purchase.purchaseId);
    lane.inFlight -= 1;
    judgeAnswer(lane, seen);
    conclude(entry, seen, askedAt);
    pumpOn();
    if (asking() === 0) rouse();
  };

  const conclude = (entry: Entry, seen: Observation, askedAt: number): void => {
    const { shard } = entry.purchase;
    if (entry.gone) {
      ownership.end(shard);
      return;
    }
    const siteTrouble = seen.kind === 'unreachable' || seen.kind === 'refused' || seen.kind === 'throttled';
    // While the whole site fails, no failure is held against a purchase.
    entry.strikes = siteTrouble && lanes.get(entry.purchase.site)?.breaker.kind === 'closed' ? entry.strikes + 1 : 0;
    const now = Math.max(clock.now(), askedAt);
    const outcome = decide(entry.purchase, seen, { askedAt, now, policy, spread: spread(), strikes: entry.strikes });
    if (outcome.kind === 'postponed') {
      log.debug({ site: entry.purchase.site, purchaseId: entry.purchase.purchaseId, reason: outcome.reason }, 'poll.postponed');
      window.settle(entry, { purchase: outcome.purchase, dueAt: outcome.nextPollAt ?? now, slot: entry.slot });
      ownership.end(shard);
      return;
    }
    const { slot, stays } = window.place(entry, outcome.nextPollAt);
    recorder.add({ entry, stays, decided: { outcome, askedAt, now, slot } });
  };

  // Judging the site --------------------------------------------------------------------------------------------------

  const judgeAnswer = (lane: Lane, seen: Observation): void => {
    const { site } = lane;
    const before = lane.breaker;
    lane.breaker = afterAnswer(before, seen, { now: clock.monotonic(), ceiling: site.maxRps, spread: spread() });
    const answered = seen.kind === 'seen' || seen.kind === 'unknown' || seen.kind === 'malformed';
    if (answered) {
      lane.lastSuccessAt = clock.now();
      if (lane.failing || clock.monotonic() - lane.reportedAt >= REPORT_EVERY) report(lane, null);
    }
    if (lane.breaker.kind === 'open' && before !== lane.breaker && seen.kind !== 'seen') {
      const { reason, detail } = seen;
      if (before.kind !== 'open')
        log.warn({ site: site.name, reason, detail }, lane.breaker.cause === 'throttled' ? 'site.throttled' : 'site.failing');
      if (lane.breaker.cause === 'failing') report(lane, detail);
    }
    if (before.kind === 'open' && lane.breaker.kind === 'recovering') log.info({ site: site.name }, 'site.answers');
  };

  const report = (lane: Lane, error: string | null): void => {
    lane.reportedAt = clock.monotonic();
    const before = lane.failing;
    lane.failing = error !== null;
    const failing = error === null ? null : { since: clock.now(), error };
    reportSite(sql, { site: lane.site.name, failing, lastSuccessAt: lane.lastSuccessAt })
      .then(() => {
        if (before !== lane.failing) onSymptom();
      })
      .catch((problem: unknown) => {
        // Said again with the next answer or probe.
        lane.failing = before;
        log.warn({ error: problem, site: lane.site.name }, 'site.report_failed');
      });
  };

  // Recording -----------------------------------------------------------------------------------------------------------

  const recorder = createRecorder({
    sql,
    replica: ownership.replica,
    onRecorded: (batch, recorded) => {
      if (recorded.ids.size > 0) writeFailures = 0;
      let told = false;
      let symptom = false;
      for (const job of batch) {
        const { outcome } = job.decided;
        const { slot } = job.decided;
        const dueAt = outcome.nextPollAt;
        // Refused although the shard is ours: the purchase was changed from outside; its nudge brings it back.
        const accepted = recorded.ids.has(outcome.purchase.id);
        const next =
          accepted && job.stays && dueAt !== null && slot !== null ? { purchase: outcome.purchase, dueAt, slot } : null;
        window.settle(job.entry, next);
        ownership.end(outcome.purchase.shard);
        if (loading && next === null) written.add(outcome.purchase.id);
        if (!accepted) continue;
        told ||= outcome.events.length > 0;
        symptom ||= outcome.events.some(({ type }) => SYMPTOMS.has(type));
        logOutcome(job);
      }
      for (const shard of recorded.lostShards) ownership.lost(shard);
      if (told) onEvents();
      if (symptom) onSymptom();
      pumpOn();
    },
    onFailed: (batch, error, poison) => {
      for (const job of batch) {
        const { purchase } = job.entry;
        if (poison) log.error({ error, site: purchase.site, purchaseId: purchase.purchaseId }, 'poll.unrecordable');
        // What was written before a connection broke is not known, and what could not be written may rest on a mistake: the rows tell.
        window.settle(job.entry, null);
        reread.set(purchase.id, clock.monotonic() + (poison ? POISON_REST : 0));
        ownership.end(purchase.shard);
      }
      if (!poison) {
        writeFailures += 1;
        pausedUntil = clock.monotonic() + Math.min(FIRST_PAUSE * 2 ** (writeFailures - 1), LONGEST_PAUSE);
        wake();
        log.error({ error, polls: batch.length }, 'poll.not_recorded');
      }
      pumpOn();
    },
  });

  const logOutcome = ({ entry, decided: { outcome } }: Job): void => {
    const { site, purchaseId } = entry.purchase;
    for (const { type, sequence } of outcome.events) {
      const { transition } = outcome;
      const move =
        type === 'purchase.state_changed' && transition
          ? { from: transition.from === null ? null : namedState(transition.from).name, to: namedState(transition.to).name }
          : {};
      log.info({ site, purchaseId, sequence, ...move }, type);
    }
    if (outcome.kind === 'failed') log.debug({ site, purchaseId, reason: outcome.reason }, 'poll.failed');
  };

  // Loading -------------------------------------------------------------------------------------------------------------

  /** Takes rows into memory. Purchases of sites that are not configured any more keep their rows and are left alone. */
  const take = (rows: readonly QueuedPurchase[]): void => {
    for (const row of rows) {
      if (written.has(row.purchase.id)) reread.set(row.purchase.id, 0);
      else if (lanes.has(row.purchase.site)) window.put(row);
    }
  };

  /** Reads what is due soon and what changed from outside; answers whether there is more to read at once. */
  const load = async (): Promise<boolean> => {
    loading = true;
    try {
      await forgetOldNudges();
      const owned = ownership.owned();
      if (owned.length === 0) return false;
      const again = await readAgain();
      const nudged = await readNudged(owned);
      const due = await readDue();
      return again || nudged || due;
    } finally {
      loading = false;
      written.clear();
    }
  };

  const forgetOldNudges = async (): Promise<void> => {
    if (fresh.size === 0) return;
    const shards = [...fresh];
    await dropNudges(sql, shards);
    for (const shard of shards) fresh.delete(shard);
  };

  const readAgain = async (): Promise<boolean> => {
    const now = clock.monotonic();
    const ids = [...reread].filter(([, from]) => from <= now).map(([id]) => id);
    if (ids.length === 0) return false;
    for (const id of ids) reread.delete(id);
    written.clear();
    take(await loadPurchases(sql, ids));
    return true;
  };

  const readNudged = async (shards: readonly number[]): Promise<boolean> => {
    const limit = Math.min(window.room(), NUDGES_AT_ONCE);
    if (limit === 0) return false;
    const rows = await takeNudged(sql, { shards, limit });
    take(rows);
    return rows.length >= limit;
  };

  /**
   * Reads on in the queue. First all that is overdue, whatever its age: it leaves memory again with its poll. Only then
   * what is due soon, so that memory is never filled with what can wait while something overdue is not read.
   */
  const readDue = async (): Promise<boolean> => {
    const slot = dueSlot(clock.now());
    const through = window.behind(slot - 1).length > 0 ? slot - 1 : slot + 1;
    const behind = window.behind(through);
    if (behind.length === 0) return false;
    const perShard = Math.min(Math.floor(window.room() / behind.length), ROWS_PER_SHARD);
    // Too little room to be worth a query: polls make some.
    if (perShard < 2) {
      window.setPressure(true);
      return false;
    }
    const { rows, cursors } = await loadDue(sql, { cursors: behind, through, limit: perShard });
    take(rows);
    window.moved(cursors, through);
    return window.behind(slot + 1).length > 0;
  };

  const anythingDue = (): boolean => {
    const now = clock.now();
    return [...lanes.keys()].some((site) => (window.nextDue(site) ?? Number.POSITIVE_INFINITY) <= now);
  };
  const rouse = (): void => {
    const waiting = idle;
    idle = [];
    for (const resolve of waiting) resolve();
  };
  /** Resolves when nothing is being asked or recorded. */
  const quiet = async (): Promise<void> => {
    while (asking() > 0 || recorder.pending() > 0) {
      if (asking() > 0) await new Promise<void>((resolve) => idle.push(resolve));
      await recorder.drain();
    }
  };

  return {
    tick: async () => {
      const more = await load();
      pumpOn();
      return more || window.pressed() ? MAKING_ROOM : SWEEP;
    },
    pollDue: async () => {
      for (;;) {
        let more = true;
        while (more) more = await load();
        const next = pump();
        if (asking() > 0 || recorder.pending() > 0) await quiet();
        else if (next < SPACING_AT_MOST && anythingDue()) {
          // Something is due and only waits for its turn in the site's calls a second.
          await new Promise((resolve) => setTimeout(resolve, next));
        } else break;
      }
      cancelTimer();
    },
    stop: async () => {
      stopped = true;
      cancelTimer();
      await quiet();
    },
    size: () => window.size,
  };
}
