/**
 * The events that people receive: incidents, first looks, digests, single stuck checkouts and orders paid twice. Slack and Teams show them as
 * messages, alert webhooks pass them on as they are. They are read back leniently: an alarm of another version is still one.
 */
import { z } from 'zod';
import { STUCK_MODES } from '../incidents/audience.ts';
import { SUBSCRIBER_TROUBLES } from '../incidents/incident.ts';
import { REPLICA_TROUBLES } from '../incidents/replica-trouble.ts';
import { CHECKOUT_OUTCOMES } from '../incidents/stuck-checkouts.ts';
import type { IncidentKind } from '../incidents/symptom.ts';
import { LIMIT_SOURCES } from '../stays/dwell.ts';
import { parseExact } from '../values/exact-json.ts';
import { digestData } from './digest-data.ts';
import { amountText, count, listOf, orNull, quantity, readableState, share, time, word } from './fields.ts';
import { paidTwiceData } from './paid-twice-data.ts';

/** The stages of an incident that events report. */
export const INCIDENT_STAGES = ['opened', 'reopened', 'grew', 'reminder', 'ended'] as const;
export type IncidentStage = (typeof INCIDENT_STAGES)[number];

const test = z
  .literal(true)
  .exactOptional()
  .catch(undefined as never)
  .describe('An example: nothing is wrong.');
const causes = listOf(z.object({ cause: word, why: orNull(word), likely: z.boolean().catch(true) })).describe(
  'What it may be, the likeliest first, each with what speaks for it. `likely` is false while too few customers speak for it. docs/alerts.md lists them.',
);

const HEAD = {
  incidentId: z.string().catch(''),
  openedAt: time.catch(Number.NaN),
  endedAt: orNull(time),
  reopenedAt: orNull(time).describe('When the incident came back last; null while it never did.'),
  since: time.describe('The earliest symptom.'),
  severity: orNull(z.enum(['warning', 'critical'])),
  acknowledged: orNull(z.object({ by: orNull(word), note: orNull(word), at: orNull(time) })).describe(
    'Who looks after the incident.',
  ),
  test,
};

const answer = z.object({ cause: word, note: orNull(word), by: orNull(word), at: orNull(time) });

const stuckPart = z.object({
  site: word,
  state: readableState,
  count: count.catch(0).describe('Customers who are stuck now.'),
  peak: count.catch(0).describe('Customers who were stuck at the worst.'),
  ended: z.boolean().catch(false),
});

const sliceCount = z.object({ came: count, stuck: count });
/** The slice of customers that holds a fault. */
const sliceData = z.object({
  method: orNull(word).describe('`PaymentMethod`; null: several.'),
  country: orNull(word).describe('`CountryCode`; null: several.'),
  currency: orNull(word).describe('`CurrencyCode`; null: several.'),
  since: time.describe('When the first customer of the slice came who became stuck.'),
  inside: sliceCount.describe('Customers of the slice.'),
  elsewhere: sliceCount.describe('Customers who came to the same states in the same time and are not of the slice.'),
});

const stuckData = z.object({
  kind: z.literal('stuck'),
  ...HEAD,
  answer: orNull(answer).describe('What it was, as a person said.'),
  site: orNull(word).describe('Null: several sites.'),
  state: orNull(readableState).describe('Null: several states.'),
  count: count.describe('Customers who are stuck now.'),
  peak: count.catch(0).describe('Customers who were stuck at the worst.'),
  parts: listOf(stuckPart).describe('One for each state of each site, the largest first.'),
  limitMs: orNull(count).describe('After how long a stay is stuck.'),
  dwell: orNull(
    z.object({
      usualMs: orNull(count),
      p95Ms: orNull(count),
      purchases: orNull(count),
      source: orNull(z.enum(LIMIT_SOURCES)),
    }),
  ).describe('How long customers take who get on, and where that is known from.'),
  alarm: orNull(
    z.object({
      rule: z.enum(['share', 'sparse']),
      since: orNull(time),
      entrants: orNull(count),
      overdue: orNull(count),
      usualShare: orNull(share),
      perDay: orNull(quantity),
      falseAlarmEvery: orNull(quantity),
      at: orNull(time),
    }),
  ).describe('What the incident rests on, as it was when it was noticed.'),
  lately: orNull(z.object({ entrants: count, overdue: count })).describe(
    'Customers who came since the incident began, and those of them who became stuck; null when not known.',
  ),
  slice: orNull(sliceData).describe(
    'Where it is, when that is not everywhere: the narrowest slice of customers that holds the fault.',
  ),
  mark: orNull(z.object({ at: time, text: word })).describe('The mark nearest to its beginning, such as a deploy.'),
  noticedAfterMs: orNull(count).describe('From the first customer who speaks for the incident until it was noticed.'),
  purchases: listOf(word).describe('The oldest few.'),
  waiting: listOf(z.object({ amount: amountText, currency: word })).describe('What the orders that wait amount to.'),
  unpriced: count.catch(0).describe('Purchases whose amount is not known.'),
  atLeast: z.boolean().catch(false).describe('Whether more orders wait than `waiting` is the sum of.'),
  causes,
  earlier: orNull(answer.extend({ site: orNull(word), state: orNull(readableState) })).describe(
    'What it was the last time this happened, as a person said.',
  ),
  became: orNull(word).describe('How those who were stuck ended, in a sentence: so far; given at the end.'),
  movedOn: orNull(count).describe('How many of those stuck got on after all since it began, or came back; given at the end.'),
  includes: listOf(word).describe('Ids of the incidents that are part of this one.'),
  singles: orNull(z.object({ until: orNull(z.literal('over')), counted: count, perDay: orNull(quantity) })).describe(
    'Alerts about single stuck checkouts rest until the incident is over, or (`until` is null) incidents replace them from here on; null when nothing changes.',
  ),
});

const unreachableData = z.object({
  kind: z.literal('unreachable'),
  ...HEAD,
  site: word,
  reason: orNull(word).describe(
    '`throttled`, `malformed`, `unknown`, `refused`, `unreachable`, `not_configured` or `not_moved`.',
  ),
  lastError: orNull(word),
  lastReadAt: orNull(time).describe('When an answer last showed a purchase; null: never, or not known.'),
});

const subscriberData = z.object({
  kind: z.literal('subscriber'),
  ...HEAD,
  subscriber: word,
  channel: orNull(word).describe('What kind of receiver it is: webhook, slack, …'),
  audience: orNull(word).describe('Whether it is for `people` or `systems`.'),
  origin: orNull(word),
  trouble: orNull(z.enum(SUBSCRIBER_TROUBLES)).describe('What is wrong; null at the end.'),
  outcome: orNull(word).describe('How it came to an end; null before.'),
  failures: z.int().catch(0).describe('In a row.'),
  failingSince: orNull(time),
  ourFailingSince: orNull(time).describe('Since when nothing reaches it for a reason on our side.'),
  untried: z.boolean().catch(false).describe('Nothing is even tried: what is stored of it cannot be used.'),
  lastError: orNull(word),
  nextTryAt: orNull(time),
  offSince: orNull(time),
  waiting: z.int().catch(0).describe('Deliveries that wait, counted up to `countedTo`.'),
  givenUp: z.int().catch(0).describe('Deliveries that were given up, counted up to `countedTo`.'),
  countedTo: orNull(z.int()),
  givenUpFrom: orNull(time).describe('When the first event of those given up was made.'),
});

const replicaData = z.object({
  kind: z.literal('replica'),
  ...HEAD,
  troubles: listOf(
    z.object({ replica: z.string(), host: z.string(), reason: z.enum(REPLICA_TROUBLES), since: time, error: orNull(z.string()) }),
  ).describe('What keeps replicas of the daemon from their work; at the end, what people were alerted of last.'),
  postedBy: orNull(word).describe(
    'The daemon that posted this by itself while the database kept no alert; null when the alert came from the database.',
  ),
});

const firstLookData = z.object({
  kind: z.literal('first_look').catch('first_look'),
  site: word,
  count,
  parts: listOf(z.object({ state: readableState, count })),
  registered: orNull(count).describe('Purchases registered at the site.'),
  unseen: orNull(count).describe('Those of them that no poll has shown yet.'),
  since: orNull(time).describe('When the one came that has waited longest.'),
});

const checkout = {
  site: word,
  state: readableState,
  purchaseId: word,
  reference: orNull(word).describe('Your own name for the purchase, from its registration.'),
  orderReference: orNull(word).describe("The order's name at the service, where it is stored; else `reference`."),
  price: orNull(amountText),
  currency: orNull(word),
  since: time.describe('When it came into the state.'),
};

const checkoutsData = z.object({
  kind: z.literal('checkouts').catch('checkouts'),
  severity: z.literal('warning').catch('warning'),
  test,
  stuckCount: count.catch(0).describe('How many are stuck; `stuck` has the first of them.'),
  overCount: count.catch(0).describe('How many are over; `over` has the first of them.'),
  stuck: listOf(
    z.object({
      ...checkout,
      stuckSince: orNull(time),
      limitMs: orNull(count),
      unreadable: orNull(z.object({ reason: word, lastError: orNull(word) })).describe(
        'The purchase is not stuck: it cannot be read, or its answers cannot be recorded, since `since`; `state` is the last one that was seen, or `New`. Null: it is stuck.',
      ),
      foundLate: z
        .boolean()
        .catch(false)
        .describe(
          'It came with the first load of its site, and its first poll found it in the state: it has waited since `since` at least.',
        ),
    }),
  ),
  over: listOf(
    z.object({
      ...checkout,
      outcome: z.enum(CHECKOUT_OUTCOMES),
      to: orNull(readableState).describe('The state that came after.'),
      overAt: orNull(time),
    }),
  ),
  reasons: listOf(
    z.object({
      site: word,
      state: readableState,
      mode: z.enum(STUCK_MODES).extract(['auto', 'each']).catch('auto'),
      counted: count.catch(0),
      perDay: orNull(quantity),
      isLast: z.boolean().catch(false).describe('From here on incidents alert instead.'),
      count: count.catch(0).describe('Of those that are stuck, how many are here.'),
      lastWellAt: orNull(time).describe('When the last customer came who got on here; null when none is known.'),
    }),
  ).describe('Why checkouts of a state at a site alert by themselves.'),
  causes,
});

const incidentData = z.discriminatedUnion('kind', [
  stuckData.meta({ id: 'StuckIncidentData', description: 'Customers who are stuck in a state of a site.' }),
  unreachableData.meta({ id: 'UnreachableIncidentData', description: 'A site of which no purchase is read.' }),
  subscriberData.meta({
    id: 'SubscriberIncidentData',
    description: 'A subscriber that takes nothing, does not take everything, or was switched off.',
  }),
  replicaData.meta({ id: 'ReplicaIncidentData', description: 'Replicas of the daemon that cannot do their work.' }),
]);

function event<Type extends string, Data extends z.ZodType>(type: Type, id: string, description: string, data: Data) {
  return z.object({ id: z.string().catch(''), type: z.literal(type), timestamp: time, data }).meta({ id, description });
}

/** The schema of each type of event. */
export const PEOPLE_EVENTS = {
  'incident.opened': event('incident.opened', 'IncidentOpenedEvent', 'An incident began.', incidentData),
  'incident.reopened': event('incident.reopened', 'IncidentReopenedEvent', 'An incident that was over came back.', incidentData),
  'incident.grew': event('incident.grew', 'IncidentGrewEvent', 'An incident became larger or more severe.', incidentData),
  'incident.reminder': event('incident.reminder', 'IncidentReminderEvent', 'An incident goes on.', incidentData),
  'incident.ended': event('incident.ended', 'IncidentEndedEvent', 'An incident is over.', incidentData),
  'incident.first_look': event(
    'incident.first_look',
    'FirstLookEvent',
    'Purchases of the first load of a site are stuck: their first polls found them waiting.',
    firstLookData,
  ),
  'incident.digest': event('incident.digest', 'DigestEvent', 'What happened since the last digest.', digestData),
  'incident.checkouts': event('incident.checkouts', 'CheckoutsEvent', 'Single checkouts are stuck, or are over.', checkoutsData),
  'incident.paid_twice': event('incident.paid_twice', 'PaidTwiceEvent', 'Orders of a site were paid twice.', paidTwiceData),
} as const;

/** Types for channels that alert people. Not in the feed, not sent to webhooks. */
export type IncidentEventType = keyof typeof PEOPLE_EVENTS;

/** The data of an event of a type. */
export type IncidentEventData<Type extends IncidentEventType> = z.input<(typeof PEOPLE_EVENTS)[Type]>['data'];

/** The data that is read from events about an incident of a kind. */
export type IncidentData<Kind extends IncidentKind = IncidentKind> = Extract<z.output<typeof incidentData>, { kind: Kind }>;
export type FirstLookData = z.output<typeof firstLookData>;
export type DigestData = z.output<typeof digestData>;
export type CheckoutsData = z.output<typeof checkoutsData>;
export type PaidTwiceData = z.output<typeof paidTwiceData>;

type PeopleEvent = (typeof PEOPLE_EVENTS)[IncidentEventType];
const peopleEvent = z.discriminatedUnion('type', Object.values(PEOPLE_EVENTS) as [PeopleEvent, ...PeopleEvent[]]);
export type PeopleEventBody = z.output<typeof peopleEvent>;

/** Reads the stored text of an event for people; null when it is none, or of a shape that this version does not know. */
export function readPeopleEvent(body: string): PeopleEventBody | null {
  try {
    return peopleEvent.safeParse(parseExact(body)).data ?? null;
  } catch {
    return null; // no JSON
  }
}
