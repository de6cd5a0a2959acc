/** How everything is, in one answer. It reads counters and the fronts of queues, so it costs the same at any size. */

import { z } from '@hono/zod-openapi';
import { NEED_KINDS } from '../../actions/overview/need.ts';
import { readOverview } from '../../actions/overview/overview.ts';
import { CHANNEL_KINDS } from '../../channels/registry.ts';
import { createShared } from '../../runtime/loops/shared.ts';
import { ordersSchema, siteReplicaSchema } from '../flow/site.ts';
import { intOrNull, listOf, named, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { incidentSchema } from '../incidents/fields.ts';
import { stateOrNull, statusSchema, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';
import { healthSchema } from '../subscribers/fields.ts';

export function mountOverview(app: Api, { sql, own }: ApiDeps): void {
  // Open pages of the console ask at the same moments, and an answer takes many queries.
  const read = createShared(() => readOverview(sql, { others: own }));
  app.openapi(overviewRoute, async (c) => c.json((await read()).body, 200));
}

const dueSchema = z.object({
  count: z.int().describe('Purchases whose next poll is due.'),
  atLeast: z.boolean().describe('There are more than were counted; counting ends at about ten thousand.'),
  oldestMs: z.int().describe('How long the oldest of them has been waiting.'),
});
const firstPollsSchema = z.object({
  waiting: z.int().describe('First polls of bulk registrations to come. `due` does not count them: they come after all others.'),
  withinMs: intOrNull.describe('About how long they take; null while no daemon has said how many calls a second it makes.'),
});
const rateSchema = z.object({ polls: z.number(), failedPolls: z.number(), changes: z.number() });
const ratesSchema = z
  .object({ last5Minutes: rateSchema, last60Minutes: rateSchema })
  .describe('What all replicas did, as an average per minute; a few seconds late.');

const changeSchema = z.object({
  kind: z.enum(['first', 'moved', 'went_back']),
  noticedAt: timeSchema,
  replica: z.string(),
  cameBackTo: timeOrNull.describe('The latest moment of which the database knew anything.'),
  knownUntil: timeOrNull.describe('Up to when the database had confirmed writes to a daemon.'),
  isOpen: z.boolean().describe('A person has to compare what was lost.'),
  text: z.string().describe('What happened, and what to do.'),
});

const headlineSchema = named('Headline', {
  title: z.string(),
  text: z.string().describe('One sentence about everything; words may change.'),
  severity: z
    .enum(['critical', 'warning', 'ending'])
    .nullable()
    .describe('Of the gravest need. `ending`: only incidents that end by themselves are open.'),
  needs: listOf({
    kind: z.enum(NEED_KINDS),
    about: z.string(),
    severity: z.enum(['critical', 'warning']),
    text: z.string(),
    since: timeOrNull,
    why: textOrNull.describe('What is known of the reason.'),
    todo: z.string(),
    action: z
      .object({ path: z.string(), label: z.string() })
      .describe('Where in the console it is done: a path below its address, and the words of the link.'),
    incident: textOrNull,
  }).describe(
    'Everything that needs a person, the most severe first, and within a severity by `kind`; the headline says that nothing needs a person only when this list is empty.',
  ),
});

const overviewSchema = named('Overview', {
  at: timeSchema,
  headline: headlineSchema,
  databaseChanges: z
    .array(changeSchema)
    .describe(
      'Whether another database answers than before: losses until a person noted that they were compared, moves for a week.',
    ),
  purchases: z.object({
    total: z.int(),
    watching: z.int(),
    stuck: z.int(),
    oldestStuck: z
      .object({ purchaseId: z.string(), site: z.string() })
      .nullable()
      .describe('The purchase that has been stuck for longest; null while none is stuck.'),
    unreadable: listOf({ site: z.string(), purchaseId: z.string(), since: timeSchema, lastError: textOrNull }).describe(
      'Watched purchases of which no answer could be used or recorded since `since`, the latest first; 20 at most. Ids that the service never knew are not among them.',
    ),
    groups: listOf({
      site: z.string(),
      status: statusSchema,
      state: stateOrNull,
      count: z.int(),
      stuck: z.int(),
      oldestSince: timeOrNull.describe('Since when the watched one that has been there longest is in the state.'),
    }),
  }),
  polling: z.object({ due: dueSchema, firstPolls: firstPollsSchema, perMinute: ratesSchema }),
  sites: listOf({
    site: z.string(),
    configured: z.boolean().describe('Whether a running daemon has it in its settings.'),
    unpolled: z
      .int()
      .describe(
        'Purchases that are not polled, because no running daemon has the site in its settings; counted up to ten thousand.',
      ),
    renamedTo: textOrNull.describe(
      'The site that has this one as a former name (`formerly`): the unpolled purchases move there. Null for others.',
    ),
    lockedBy: intOrNull.describe(
      'While purchases move: the process of a session of the database that has locked rows of them, so that these stay.',
    ),
    answers: z.boolean(),
    failingSince: timeOrNull,
    reason: textOrNull.describe(
      'Why no purchase can be read: throttled, malformed, unknown, refused, unreachable, not_configured or not_moved.',
    ),
    lastError: textOrNull,
    lastAnswerAt: timeOrNull,
    lastReadAt: timeOrNull.describe("The last answer that showed a purchase's status."),
    orders: ordersSchema,
    openIncidents: z.int().describe('Here, also as a part of one of several sites.'),
    due: dueSchema,
    firstPolls: firstPollsSchema,
    perMinute: ratesSchema,
    replicas: z.array(siteReplicaSchema).describe('How each replica calls the site, as in `GET /v1/sites/{name}`.'),
  }),
  subscribers: listOf({
    name: z.string(),
    kind: z.enum(CHANNEL_KINDS),
    status: z.enum(['active', 'off']),
    statusReason: textOrNull,
    health: healthSchema,
    failing: z.int().describe('Deliveries that failed and wait for another try; counted to 1 000.'),
    lastError: textOrNull.describe('Why the last one that failed did, or why nothing is sent; null while all are taken.'),
    waiting: z.object({
      pending: z.int().describe('Deliveries that wait for their turn or their next try.'),
      inFlight: z.int().describe('Deliveries of which an attempt has been under way for a moment.'),
      parked: z.int().describe('Deliveries that wait until the subscriber gets events again.'),
      atLeast: z.boolean().describe('There are more than the ten thousand that were counted.'),
      dueSince: timeOrNull.describe('Since when the oldest could have gone, parked or not.'),
    }),
  }),
  incidents: z.object({
    open: z.int().describe('Those that are part of no other one.'),
    severity: z.enum(['warning', 'critical']).nullable().describe('Of the worst of them; null when none is open.'),
    data: z.array(incidentSchema).describe('The latest of them and of their parts; 20 at most.'),
  }),
  replicasDiffer: textOrNull.describe(
    'The names of the settings that differ between running daemons, and the sites and subscribers whose polls and deliveries are late because of the difference; never values. Null when all daemons have the same settings.',
  ),
  replicas: listOf({ id: z.string(), startedAt: timeSchema, shards: z.int() }),
});

/** The answer's body. */
export type OverviewBody = z.output<typeof overviewSchema>;

const overviewRoute = route('GET /v1/overview', {
  summary: 'How everything is',
  description:
    'Purchases by site, status and state with the oldest of each, how far polling and delivering are behind, rates, sites, subscribers, incidents and replicas. Costs the same whatever is registered.',
  answers: { 200: jsonAnswer('As it is now.', overviewSchema) },
});
