/** Shows how everything is: sites, purchases, what is stuck, whether polls and deliveries keep up. */

import { changeBody, changeSentences, shownChanges } from '../../actions/database-changes.ts';
import { ordersBody } from '../../actions/flow/site.ts';
import { siteCallsBody } from '../../actions/flow/site-calls.ts';
import { careOf, comingEnd, lengthOf, placeOf, whatOf } from '../../actions/incidents/words.ts';
import { daemonsDiffer, differText, livingDaemons } from '../../actions/running-daemons.ts';
import { healthBody } from '../../actions/subscribers/body.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { SINGLES_FIRST, withinText } from '../../domain/polling/first-polls.ts';
import { unpolledAdvice, unpolledText } from '../../domain/polling/unpolled.ts';
import { namedState, stateName } from '../../domain/purchases/states.ts';
import { NO_DAEMON, unwritableAdvice } from '../../domain/replicas/daemon-silence.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { type IncidentRow, listIncidents } from '../../postgres/incidents/list.ts';
import { orderCounts } from '../../postgres/incidents/paid-twice.ts';
import { readSiteCalls } from '../../postgres/polling/site-calls.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { countPurchases } from '../../postgres/reports/counts.ts';
import { firstPolls } from '../../postgres/reports/first-polls.ts';
import { dueLag, oldestStuck, totalLag, waitingDeliveries, waitingOf } from '../../postgres/reports/overview.ts';
import { daemonSilence } from '../../postgres/shards/replicas.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { troubledSubscribers } from '../../postgres/subscribers/trouble.ts';
import { statusWord } from '../subscribers/show-health.ts';
import { printTrouble } from '../subscribers/show-trouble.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printJson, printLine, printText, styled } from '../terminal/output.ts';
import { knownSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';
import { printSiteCalls, printSites } from './show-sites.ts';

type Overview = Awaited<ReturnType<typeof readOverview>>;

/** Polls that are late by less than this are merely on their way. */
const LATE = 5_000;
/** Open incidents that are shown; there is one per site and state at most. */
const MOST_INCIDENTS = 20;

async function readOverview(sql: Sql, site: string | undefined) {
  const [
    sites,
    counts,
    lags,
    daemons,
    subscribers,
    waiting,
    troubled,
    oldest,
    incidents,
    { now },
    silence,
    calls,
    firsts,
    changes,
    orders,
  ] = await Promise.all([
    listSites(sql),
    countPurchases(sql),
    dueLag(sql),
    livingDaemons(sql),
    readSubscribers(sql),
    waitingDeliveries(sql),
    troubledSubscribers(sql),
    oldestStuck(sql, site),
    listIncidents(sql, { filter: { status: 'open', site }, before: null, limit: MOST_INCIDENTS + 1 }),
    readClock(sql),
    daemonSilence(sql),
    readSiteCalls(sql, site ?? null),
    firstPolls(sql),
    shownChanges(sql),
    orderCounts(sql),
  ]);
  if (site !== undefined)
    knownSite(
      site,
      sites.map(({ name }) => name),
    );
  const isShown = (name: string): boolean => site === undefined || name === site;
  return {
    now,
    sites: sites.filter(({ name }) => isShown(name)),
    counts: counts.filter((row) => isShown(row.site)),
    firsts: firsts.filter(
      (row) => isShown(row.site) && row.waiting > 0 && sites.some(({ name, unpolled }) => name === row.site && unpolled === 0),
    ),
    lag: totalLag(lags.filter((row) => isShown(row.site))),
    daemons,
    silence,
    troubled,
    oldest,
    incidents,
    calls,
    changes,
    orders,
    isOneSite: site !== undefined,
    subscribers: subscribers.map((row) => {
      const trouble = troubled.find(({ name }) => name === row.name);
      return {
        ...row,
        ...waitingOf(waiting, row.id),
        failing: trouble?.failing ?? 0,
        lastError: trouble?.lastError ?? trouble?.ourError ?? null,
      };
    }),
  };
}

/** Prints the overview, of one site when it is named. */
export async function showOverview(
  context: CliContext,
  sql: Sql,
  { site, json }: { site: string | undefined; json: boolean },
): Promise<void> {
  const overview = await readOverview(sql, site);
  if (json) return printJson(context, overviewBody(overview));
  printChanges(context, overview);
  printSites(context, overview);
  printSiteCalls(context, overview);
  printPurchases(context, overview);
  printIncidents(context, overview);
  printPolling(context, overview);
  printSubscribers(context, overview);
}

function overviewBody({
  now,
  sites,
  counts,
  lag,
  firsts,
  daemons,
  subscribers,
  oldest,
  incidents,
  calls,
  changes,
  orders,
}: Overview) {
  return {
    at: isoTime(now),
    databaseChanges: changes.map(changeBody),
    sites: sites.map(({ failingSince, failingReason, lastSuccessAt, lastReadAt, ...site }) => ({
      ...site,
      failingSince: isoTimeOrNull(failingSince),
      failingReason: failingSince === null ? null : failingReason,
      lastReadAt: isoTimeOrNull(lastReadAt),
      lastSuccessAt: isoTimeOrNull(lastSuccessAt),
      orders: ordersBody(orders.get(site.name)),
      replicas: calls.filter((row) => row.site === site.name).map(siteCallsBody),
    })),
    purchases: counts.map(({ state, oldest, ...row }) => ({
      ...row,
      state: state === null ? null : namedState(state),
      oldestSince: isoTimeOrNull(oldest),
    })),
    stuck: counts.reduce((sum, { stuck }) => sum + stuck, 0),
    oldestStuck: oldest,
    incidents: incidents.slice(0, MOST_INCIDENTS).map((incident) => ({
      id: incident.id,
      kind: incident.kind,
      site: incident.site,
      state: incident.state === null ? null : namedState(incident.state),
      subscriber: incident.subscriber,
      parent: incident.parent,
      severity: levelOf(incident),
      count: incident.count,
      peak: incident.peak,
      openedAt: isoTime(incident.openedAt),
      since: isoTime(incident.since),
      acknowledgedAt: isoTimeOrNull(incident.acknowledgedAt),
      acknowledgedBy: incident.acknowledgedBy,
      silencedUntil: isoTimeOrNull(incident.silencedUntil),
    })),
    due: { count: lag.due, atLeast: lag.atLeast, oldestMs: Math.round(lag.oldest) },
    firstPolls: firsts.map(({ site, waiting, within }) => ({ site, waiting, withinMs: within })),
    daemons: daemons.map(({ id, startedAt, shards }) => ({ id, startedAt: isoTime(startedAt), shards })),
    subscribers: subscribers.map((row) => ({
      name: row.name,
      kind: row.kind,
      status: row.status,
      statusReason: row.statusReason,
      health: healthBody(row),
      pending: row.pending,
      inFlight: row.inFlight,
      parked: row.parked,
      atLeast: row.atLeast,
      dueSince: isoTimeOrNull(row.dueSince),
      failing: row.failing,
      lastError: row.lastError,
    })),
  };
}

/** First of all: what follows is only what this database knows. */
function printChanges(context: CliContext, { changes }: Overview): void {
  for (const change of changes) printText(context, changeSentences(change), changeBody(change).isOpen ? { style: 'red' } : {});
  if (changes.length > 0) printLine(context);
}

function printPurchases(context: CliContext, { counts, oldest: longest, now }: Overview): void {
  printLine(context);
  if (counts.length === 0) return void printLine(context, 'No purchases yet. Register one with: purchase-watch watch <id>');
  printTable(
    context,
    ['site', 'status', 'state', 'purchases', 'stuck', 'oldest since'],
    counts.map(({ site, status, state, count, stuck, oldest }) => [
      site,
      status,
      state === null ? 'not seen yet' : stateName(state),
      count,
      stuck,
      oldest === null ? '' : relative(oldest, now),
    ]),
  );
  const stuck = counts.reduce((sum, row) => sum + row.stuck, 0);
  if (stuck === 0) return;
  printLine(context);
  const text = `${counted(stuck, 'purchase')} stuck${longest === null ? '' : `; see why the oldest is: purchase-watch why ${longest.purchaseId} --site ${longest.site}`}`;
  printText(context, text, { style: 'red' });
}

function printIncidents(context: CliContext, { incidents, now }: Overview): void {
  if (incidents.length === 0) return;
  printLine(context);
  const shown = incidents.slice(0, MOST_INCIDENTS);
  const isPart = ({ parent }: IncidentRow): boolean => shown.some(({ id }) => id === parent);
  const print = (incident: IncidentRow, depth: number): void => {
    const isCritical = levelOf(incident) === 'critical';
    printText(context, incidentText(incident, now), { indent: '  '.repeat(depth), ...(isCritical && { style: 'red' }) });
    for (const part of shown.filter(({ parent }) => parent === incident.id)) print(part, depth + 1);
  };
  for (const incident of shown.filter((each) => !isPart(each))) print(incident, 0);
  const more = incidents.length > MOST_INCIDENTS ? 'and more: purchase-watch incidents lists them all; ' : '';
  printLine(context, `${more}see one: purchase-watch incidents show ${shown[0]!.id}`);
}

function incidentText(incident: IncidentRow, now: Instant): string {
  const what = `incident ${incident.id}, open for ${lengthOf(incident, now)}: ${placeOf(incident)}: ${whatOf(incident)}`;
  const end = comingEnd(incident, now);
  const critical = levelOf(incident) === 'critical' ? '; critical' : '';
  return `${what}${critical}${end === null ? '' : `; ${end}`}${careOf(incident, now)}`;
}

function printPolling(context: CliContext, { sites, lag, firsts, daemons, silence, now }: Overview): void {
  printLine(context);
  const late = lag.due > 0 && lag.oldest > LATE;
  const due = late
    ? styled(
        context,
        'yellow',
        `${lag.atLeast ? 'at least ' : ''}${counted(lag.due, 'poll')} late, the oldest by ${humanDuration(lag.oldest)}`,
      )
    : 'up to date';
  const unpolled = sites.filter((site) => site.unpolled > 0);
  for (const site of unpolled)
    printText(context, `polling  ${unpolledText(site)}; ${unpolledAdvice(site)}`, {
      style: site.failingSince === null ? 'yellow' : 'red',
    });
  if (unpolled.length === 0) printLine(context, `polling  ${due}`);
  for (const polls of firsts) {
    const text = `${counted(polls.waiting, 'first poll')} of bulk registrations at site ${polls.site} to come, ${withinText(polls)}`;
    printLine(context, `         ${text}; ${SINGLES_FIRST}`);
  }
  const missing = silence.takesWrites ? NO_DAEMON : unwritableAdvice(silence);
  const differ = daemonsDiffer(daemons);
  if (differ !== null)
    printText(context, `daemons  ${differText(differ)}; "purchase-watch doctor" says what to do`, { style: 'yellow' });
  if (daemons.length === 0) printLine(context, `daemon   ${styled(context, 'yellow', missing)}`);
  for (const { id, startedAt, shards } of daemons) {
    printLine(context, `daemon   ${id}, started ${relative(startedAt, now)}, owns ${shards} of 64 shards`);
  }
}

function printSubscribers(context: CliContext, { subscribers, troubled, now }: Overview): void {
  printLine(context);
  if (subscribers.length === 0)
    return void printLine(context, 'No subscribers: nothing is sent. Set WEBHOOK_URL or SLACK_WEBHOOK_URL.');
  printTable(
    context,
    ['subscriber', 'kind', 'status', 'waiting', 'due since'],
    subscribers.map((row) => [
      row.name,
      row.kind,
      statusWord({ status: row.status, health: healthBody(row) }),
      waitingText(row),
      row.dueSince === null ? '' : relative(row.dueSince, now),
    ]),
  );
  printTrouble(context, troubled, now);
}

function waitingText({ pending, inFlight, parked, atLeast }: Overview['subscribers'][number]): string | number {
  const rest = parked > 0 ? `${parked}${atLeast ? '+' : ''} parked` : atLeast ? `${pending}+` : pending;
  return inFlight === 0 ? rest : `${rest}, ${inFlight} in flight`;
}
