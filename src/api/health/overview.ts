/** How everything is, in one answer. It reads counters and the fronts of queues, so it costs the same at any size. */

import { createRoute, z } from '@hono/zod-openapi';
import { changeBody, shownChanges } from '../../actions/database-changes.ts';
import { daemonsDiffer, differText } from '../../actions/running-daemons.ts';
import { healthBody } from '../../actions/subscribers/body.ts';
import { CHANNEL_KINDS } from '../../channels/registry.ts';
import { type Level, levelOf } from '../../domain/incidents/incident.ts';
import { type FirstPolls, longestFirstPolls } from '../../domain/polling/first-polls.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { countOpenIncidents } from '../../postgres/incidents/incidents.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { countPurchases } from '../../postgres/reports/counts.ts';
import { firstPolls } from '../../postgres/reports/first-polls.ts';
import {
  type DueLag,
  databaseNow,
  dueLag,
  totalLag,
  unreadablePurchases,
  waitingDeliveries,
  waitingOf,
} from '../../postgres/reports/overview.ts';
import { type ActivitySums, recentActivity } from '../../postgres/shards/activity.ts';
import { livingReplicas } from '../../postgres/shards/replicas.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { needs } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { problems } from '../http/problems.ts';
import { stateBody, stateOrNull, statusSchema, timeSchema } from '../purchases/purchase-body.ts';
import { healthSchema } from '../subscribers/fields.ts';

/** Mounts the call. */
export function mountOverview(app: Api, { sql }: { sql: Sql }): void {
  app.openapi(overviewRoute, async (c) => c.json(await readOverview(sql), 200));
}

async function readOverview(sql: Sql): Promise<z.output<typeof overviewSchema>> {
  const [now, sites, counts, lags, firsts, incidents, short, long, subscribers, waiting, replicas, changes, unreadable] =
    await Promise.all([
      databaseNow(sql),
      listSites(sql),
      countPurchases(sql),
      dueLag(sql),
      firstPolls(sql),
      countOpenIncidents(sql),
      recentActivity(sql, 5),
      recentActivity(sql, 60),
      readSubscribers(sql),
      waitingDeliveries(sql),
      livingReplicas(sql),
      shownChanges(sql),
      unreadablePurchases(sql, undefined),
    ]);
  const differ = daemonsDiffer(replicas);
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  const rates = (site: string | null) => ({
    last5Minutes: perMinute(short.filter((row) => site === null || row.site === site)),
    last60Minutes: perMinute(long.filter((row) => site === null || row.site === site)),
  });
  return {
    at: isoTime(now),
    databaseChanges: changes.map(changeBody),
    purchases: {
      total: sum(counts.map(({ count }) => count)),
      watching: sum(counts.filter(({ status }) => status === 'watching').map(({ count }) => count)),
      stuck: sum(counts.map(({ stuck }) => stuck)),
      unreadable: unreadable.map((row) => ({ ...row, since: isoTime(row.since) })),
      groups: counts.map(({ state, oldest, ...group }) => ({
        ...group,
        state: stateBody(state),
        oldestSince: isoTimeOrNull(oldest),
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
      openIncidents: sum(incidents.filter(({ site }) => site === name).map(({ atSite }) => atSite)),
      due: dueBody(totalLag(lags.filter(({ site }) => site === name))),
      firstPolls: firstPollsBody(firsts.filter(({ site }) => site === name)),
      perMinute: rates(name),
    })),
    subscribers: subscribers.map((row) => {
      const { name, kind, status, statusReason } = row;
      const { pending, inFlight, parked, atLeast, dueSince } = waitingOf(waiting, row.id);
      return {
        name,
        kind,
        status,
        statusReason,
        health: healthBody(row),
        waiting: { pending, inFlight, parked, atLeast, dueSince: isoTimeOrNull(dueSince) },
      };
    }),
    incidents: { open: sum(incidents.map(({ count }) => count)), severity: worstOf(incidents) },
    daemonsDiffer: differ === null ? null : differText(differ),
    replicas: replicas.map(({ id, startedAt, shards }) => ({ id, startedAt: isoTime(startedAt), shards })),
  };
}

/** Critical when one of the incidents is; null without one. */
function worstOf(incidents: Awaited<ReturnType<typeof countOpenIncidents>>): Level | null {
  const levels = incidents.flatMap(({ kind, severity }) => (severity === null ? [] : levelOf({ kind, severity })));
  return levels.find((level) => level === 'critical') ?? levels[0] ?? null;
}

function dueBody({ due, atLeast, oldest }: Omit<DueLag, 'site' | 'oldestSingle'>) {
  return { count: due, atLeast, oldestMs: Math.round(oldest) };
}

/** Sites are polled side by side, so the longest counts. */
function firstPollsBody(sites: readonly FirstPolls[]) {
  const longest = longestFirstPolls(sites);
  return { waiting: sites.reduce((sum, { waiting }) => sum + waiting, 0), withinMs: longest === null ? 0 : longest.within };
}

function perMinute(sums: readonly ActivitySums[]) {
  const rate = (value: (row: ActivitySums) => number): number =>
    Math.round(sums.reduce((total, row) => total + value(row) / row.minutes, 0) * 100) / 100;
  return { polls: rate((row) => row.polls), failedPolls: rate((row) => row.failedPolls), changes: rate((row) => row.changes) };
}

const dueSchema = z.object({
  count: z.int().openapi({ description: 'Purchases whose next poll is due.' }),
  atLeast: z.boolean().openapi({ description: 'There are more than were counted; counting ends at about ten thousand.' }),
  oldestMs: z.int().openapi({ description: 'How long the oldest of them has been waiting.' }),
});
const firstPollsSchema = z.object({
  waiting: z.int().openapi({
    description: 'First polls of bulk registrations to come. `due` does not count them: they come after all others.',
  }),
  withinMs: z
    .int()
    .nullable()
    .openapi({ description: 'About how long they take; null while no daemon has said how many calls a second it makes.' }),
});
const rateSchema = z.object({ polls: z.number(), failedPolls: z.number(), changes: z.number() });
const ratesSchema = z
  .object({ last5Minutes: rateSchema, last60Minutes: rateSchema })
  .openapi({ description: 'What all replicas did, as an average per minute; a few seconds late.' });

const changeSchema = z.object({
  kind: z.enum(['first', 'moved', 'went_back']),
  noticedAt: timeSchema,
  replica: z.string(),
  cameBackTo: timeSchema.nullable().openapi({ description: 'The latest moment of which the database knew anything.' }),
  knownUntil: timeSchema.nullable().openapi({ description: 'Up to when the database had confirmed writes to a daemon.' }),
  isOpen: z.boolean().openapi({ description: 'A person has to compare what was lost.' }),
  text: z.string().openapi({ description: 'What happened, and what to do.' }),
});

const overviewSchema = z
  .object({
    at: timeSchema,
    databaseChanges: z.array(changeSchema).openapi({
      description:
        'Whether another database answers than before: losses until a person noted that they were compared, moves for a week.',
    }),
    purchases: z.object({
      total: z.int(),
      watching: z.int(),
      stuck: z.int(),
      unreadable: z
        .array(z.object({ site: z.string(), purchaseId: z.string(), since: timeSchema, lastError: z.string().nullable() }))
        .openapi({
          description:
            'Watched purchases of which no answer could be used or recorded since `since`, the latest first; 20 at most. Ids that the service never knew are not among them.',
        }),
      groups: z.array(
        z.object({
          site: z.string(),
          status: statusSchema,
          state: stateOrNull,
          count: z.int(),
          stuck: z.int(),
          oldestSince: timeSchema
            .nullable()
            .openapi({ description: 'Since when the watched one that has been there longest is in the state.' }),
        }),
      ),
    }),
    polling: z.object({ due: dueSchema, firstPolls: firstPollsSchema, perMinute: ratesSchema }),
    sites: z.array(
      z.object({
        site: z.string(),
        configured: z.boolean().openapi({ description: 'Whether a running daemon has it in its settings.' }),
        unpolled: z.int().openapi({
          description:
            'Purchases that are not polled, because no running daemon has the site in its settings; counted up to ten thousand.',
        }),
        renamedTo: z.string().nullable().openapi({
          description:
            'The site that has this one as a former name (`formerly`): the unpolled purchases move there. Null for others.',
        }),
        lockedBy: z.int().nullable().openapi({
          description:
            'While purchases move: the process of a session of the database that has locked rows of them, so that these stay.',
        }),
        answers: z.boolean(),
        failingSince: timeSchema.nullable(),
        reason: z.string().nullable().openapi({
          description:
            'Why no purchase can be read: throttled, malformed, unknown, refused, unreachable, not_configured or not_moved.',
        }),
        lastError: z.string().nullable(),
        lastAnswerAt: timeSchema.nullable(),
        lastReadAt: timeSchema.nullable().openapi({ description: "The last answer that showed a purchase's status." }),
        openIncidents: z.int().openapi({ description: 'Here, also as a part of one of several sites.' }),
        due: dueSchema,
        firstPolls: firstPollsSchema,
        perMinute: ratesSchema,
      }),
    ),
    subscribers: z.array(
      z.object({
        name: z.string(),
        kind: z.enum(CHANNEL_KINDS),
        status: z.enum(['active', 'off']),
        statusReason: z.string().nullable(),
        health: healthSchema,
        waiting: z.object({
          pending: z.int().openapi({ description: 'Deliveries that wait for their turn or their next try.' }),
          inFlight: z.int().openapi({ description: 'Deliveries of which an attempt has been under way for a moment.' }),
          parked: z.int().openapi({ description: 'Deliveries that wait until the subscriber gets events again.' }),
          atLeast: z.boolean().openapi({ description: 'There are more than the ten thousand that were counted.' }),
          dueSince: timeSchema.nullable().openapi({ description: 'Since when the oldest could have gone, parked or not.' }),
        }),
      }),
    ),
    incidents: z.object({
      open: z.int().openapi({ description: 'Those that are part of no other one.' }),
      severity: z
        .enum(['warning', 'critical'])
        .nullable()
        .openapi({ description: 'Of the worst of them; null when none is open.' }),
    }),
    daemonsDiffer: z.string().nullable().openapi({
      description:
        'The names of the settings that differ between running daemons, and the sites and subscribers whose polls and deliveries are late because of the difference; never values. Null when all daemons have the same settings.',
    }),
    replicas: z.array(z.object({ id: z.string(), startedAt: timeSchema, shards: z.int() })),
  })
  .openapi('Overview');

/** The answer's body. */
export type OverviewBody = z.output<typeof overviewSchema>;

const overviewRoute = createRoute({
  method: 'get',
  path: '/v1/overview',
  security: needs('read'),
  summary: 'How everything is',
  description:
    'Purchases by site, status and state with the oldest of each, how far polling and delivering are behind, rates, sites, subscribers, incidents and replicas. Costs the same whatever is registered.',
  tags: ['Operations'],
  responses: {
    200: jsonAnswer('As it is now.', overviewSchema),
    ...problems('unauthorized', 'unavailable'),
  },
});
