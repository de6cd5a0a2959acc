/** How everything is: what `GET /v1/overview` answers, and `status` shows. */
import { type Level, levelOf } from '../../domain/incidents/incident.ts';
import { type FirstPolls, longestFirstPolls } from '../../domain/polling/first-polls.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { countOpenIncidents } from '../../postgres/incidents/incidents.ts';
import { orderCounts } from '../../postgres/incidents/paid-twice.ts';
import { readSiteCalls } from '../../postgres/polling/site-calls.ts';
import { type DueLag, longestStuck, totalLag, waitingOf } from '../../postgres/reports/overview.ts';
import { type ActivitySums, recentActivity } from '../../postgres/shards/activity.ts';
import { failingDeliveries } from '../../postgres/subscribers/trouble.ts';
import { changeBody } from '../database-changes.ts';
import { ordersBody } from '../flow/site.ts';
import { siteCallsBody } from '../flow/site-calls.ts';
import { incidentBody } from '../incidents/body.ts';
import { differText, replicasDiffer } from '../running-replicas.ts';
import { healthBody } from '../subscribers/body.ts';
import { type OverviewFacts, readFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { headlineOf, needsOf } from './needs.ts';

export { totalLag, type UnreadablePurchase, type WaitingDeliveries, waitingOf } from '../../postgres/reports/overview.ts';
export { MOST_FAILING } from '../../postgres/subscribers/trouble.ts';

/** Open incidents that are shown one by one. */
export const MOST_SHOWN = 20;

interface OverviewWanted {
  /** The only site that is shown; the headline is about everything all the same. */
  readonly site?: string | undefined;
  /** Findings that only the caller knows. */
  readonly others?: () => Promise<readonly Finding[]>;
}

export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** Reads counters and the fronts of queues, so it costs the same at any size: the facts for people, and the same as a body for programs. */
export async function readOverview(sql: Sql, wanted: OverviewWanted = {}) {
  const read = await readAll(sql, wanted);
  return { ...read, body: overviewBody(read) };
}

async function readAll(sql: Sql, { site, others }: OverviewWanted) {
  const [all, failures, orders, open, short, long, calls, ofSite, own] = await Promise.all([
    readFacts(sql),
    failingDeliveries(sql),
    orderCounts(sql),
    countOpenIncidents(sql),
    recentActivity(sql, 5),
    recentActivity(sql, 60),
    readSiteCalls(sql, site ?? null),
    site === undefined ? [] : longestStuck(sql, { site, most: 1 }),
    others?.() ?? [],
  ]);
  const oldest = (site === undefined ? all.stuck : ofSite)[0] ?? null;
  const needs = needsOf(all, own);
  const headline = { ...headlineOf(needs, all), needs };
  const facts = site === undefined ? all : factsOf(site, all);
  return { ...facts, headline, failures, orders, open, short, long, calls, oldest };
}

type Read = Awaited<ReturnType<typeof readAll>>;

function factsOf(site: string, facts: OverviewFacts): OverviewFacts {
  return {
    ...facts,
    sites: facts.sites.filter(({ name }) => name === site),
    counts: facts.counts.filter((row) => row.site === site),
    lags: facts.lags.filter((row) => row.site === site),
    firsts: facts.firsts.filter((row) => row.site === site),
    unreadable: facts.unreadable.filter((row) => row.site === site),
    incidents: facts.incidents.filter((row) => row.site === site || row.parts.some((part) => part.site === site)),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function overviewBody({ now, headline, sites, counts, lags, firsts, open, short, long, calls, oldest, ...read }: Read) {
  const { replicas, changes, incidents, failures, orders } = read;
  const differ = replicasDiffer(replicas);
  const rates = (site: string | null) => ({
    last5Minutes: perMinute(short.filter((row) => site === null || row.site === site)),
    last60Minutes: perMinute(long.filter((row) => site === null || row.site === site)),
  });
  return {
    at: isoTime(now),
    headline: { ...headline, needs: headline.needs.map(({ since, ...need }) => ({ ...need, since: isoTimeOrNull(since) })) },
    databaseChanges: changes.map(changeBody),
    purchases: {
      total: sum(counts.map(({ count }) => count)),
      watching: sum(counts.filter(({ status }) => status === 'watching').map(({ count }) => count)),
      stuck: sum(counts.map(({ stuck }) => stuck)),
      oldestStuck: oldest === null ? null : { purchaseId: oldest.purchaseId, site: oldest.site },
      unreadable: read.unreadable.map((row) => ({ ...row, since: isoTime(row.since) })),
      groups: counts.map(({ state, oldest: since, ...group }) => ({
        ...group,
        state: state === null ? null : { ...namedState(state) },
        oldestSince: isoTimeOrNull(since),
      })),
    },
    polling: { due: dueBody(totalLag(lags)), firstPolls: firstPollsBody(firsts), perMinute: rates(null) },
    sites: sites.map(({ name, failingSince, failingReason, lastSuccessAt, lastReadAt, lastError, ...site }) => ({
      site: name,
      ...site,
      answers: failingSince === null,
      failingSince: isoTimeOrNull(failingSince),
      // Reason and last error stay in the row when the site answers again; then they are past.
      reason: failingSince === null ? null : failingReason,
      lastError: failingSince === null ? null : lastError,
      lastAnswerAt: isoTimeOrNull(lastSuccessAt),
      lastReadAt: isoTimeOrNull(lastReadAt),
      orders: ordersBody(orders.get(name)),
      openIncidents: sum(open.filter(({ site }) => site === name).map(({ atSite }) => atSite)),
      due: dueBody(totalLag(lags.filter(({ site }) => site === name))),
      firstPolls: firstPollsBody(firsts.filter(({ site }) => site === name)),
      perMinute: rates(name),
      replicas: calls.filter((row) => row.site === name).map(siteCallsBody),
    })),
    subscribers: read.subscribers.map((row) => {
      const { name, kind, status, statusReason } = row;
      const { subscriber: _, dueSince, ...waits } = waitingOf(read.waiting, row.id);
      const failed = failures.find((each) => each.name === name);
      return {
        name,
        kind,
        status,
        statusReason,
        health: healthBody(row),
        failing: failed?.failing ?? 0,
        lastError: row.health?.lastError ?? failed?.lastError ?? row.unreached?.error ?? null,
        waiting: { ...waits, dueSince: isoTimeOrNull(dueSince) },
      };
    }),
    incidents: {
      open: sum(open.map(({ count }) => count)),
      severity: worstOf(open),
      data: incidents.slice(0, MOST_SHOWN).map(incidentBody),
    },
    replicasDiffer: differ === null ? null : differText(differ),
    replicas: replicas.map(({ id, startedAt, shards }) => ({ id, startedAt: isoTime(startedAt), shards })),
  };
}

/** Critical when one of the incidents is; null without one. */
function worstOf(incidents: Read['open']): Level | null {
  const levels = incidents.flatMap(({ kind, severity }) => (severity === null ? [] : levelOf({ kind, severity })));
  return levels.find((level) => level === 'critical') ?? levels[0] ?? null;
}

function dueBody({ due, atLeast, oldest }: Omit<DueLag, 'site' | 'oldestSingle'>) {
  return { count: due, atLeast, oldestMs: Math.round(oldest) };
}

/** Sites are polled side by side, so the longest counts. */
function firstPollsBody(sites: readonly FirstPolls[]) {
  const longest = longestFirstPolls(sites);
  return { waiting: sum(sites.map(({ waiting }) => waiting)), withinMs: longest === null ? 0 : longest.within };
}

function perMinute(sums: readonly ActivitySums[]) {
  const rate = (value: (row: ActivitySums) => number): number =>
    Math.round(sums.reduce((total, row) => total + value(row) / row.minutes, 0) * 100) / 100;
  return { polls: rate((row) => row.polls), failedPolls: rate((row) => row.failedPolls), changes: rate((row) => row.changes) };
}
