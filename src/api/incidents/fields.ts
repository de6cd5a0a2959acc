/** The fields of incidents and silences: how they are checked and how they are shown. */

import { z } from '@hono/zod-openapi';
import {
  CAUSE_KEYS,
  INCIDENT_ID,
  INCIDENT_KINDS,
  LONGEST_NAME,
  LONGEST_NOTE,
  readCause,
  readComing,
  readIncidentId,
  readWords,
} from '../../actions/incidents/rules.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { DELIVERY_STATUSES } from '../../domain/deliveries/delivery-status.ts';
import type { Instant } from '../../domain/values/time.ts';
import { intOrNull, listOf, named, numberOrNull, orNull, parameter, textOrNull, wordParameter } from '../http/fields.ts';
import { stateOrNull, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';

export const kindParameter = wordParameter(INCIDENT_KINDS, 'kind of incident');

/** Some words of a person. */
export function wordsField(most: number, what: string) {
  return parameter((value) => readWords(value, most, what)).openapi({ type: 'string', minLength: 1, maxLength: most });
}

export const byField = wordsField(LONGEST_NAME, 'a name').openapi({
  description: 'Who says so, for the others.',
  example: 'Kim',
});

export const noteField = wordsField(LONGEST_NOTE, 'some words, or leave the field out');

export const causeField = parameter(readCause).openapi({
  type: 'string',
  enum: CAUSE_KEYS,
  description: 'What it was; docs/alerts.md says what each means.',
  example: 'deploy',
});

/** A moment to come, as a time or as a duration; its meaning depends on the database's clock. */
export const comingField = parameter<(now: Instant) => Instant>(readComing).openapi({ type: 'string', example: '2h' });

export const incidentIdField = parameter(readIncidentId).openapi({
  type: 'string',
  pattern: INCIDENT_ID.source.replace('\\w', 'A-Za-z0-9_'),
  example: 'inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2',
});

export const silenceIdField = parameter(rowIdOf('sil')).openapi({
  type: 'string',
  pattern: '^sil_[1-9][0-9]{0,15}$',
  example: 'sil_42',
});

const partSchema = named('IncidentPart', {
  id: z.string(),
  site: textOrNull,
  state: stateOrNull,
  count: z.int(),
  peak: z.int(),
  endedAt: timeOrNull,
});

const alarmSchema = named('Alarm', {
  rule: z
    .enum(['share', 'sparse'])
    .describe('`share`: too many of the latest customers; `sparse`: few customers come, and two in a row did not get on.'),
  at: timeSchema.describe('When it was noticed.'),
  since: timeSchema.describe('When the first customer came that speaks for it.'),
  entrants: z.int().describe('Customers that were counted since then.'),
  overdue: z.int().describe('Those of them that became stuck.'),
  usualShare: z.number().describe('The share that is usual, from 0 to 1.'),
  perDay: numberOrNull.describe('Customers a day, as far as is known.'),
  falseAlarmEvery: numberOrNull.describe(
    'Customers among whom one false alarm is to be expected on average; null where that is not known.',
  ),
});

export const acknowledgementSchema = z.object({ at: timeSchema, by: z.string(), note: textOrNull });
const answerSchema = z.object({ cause: z.string(), note: textOrNull, by: z.string(), at: timeSchema });

export const incidentSchema = named('Incident', {
  id: z.string(),
  kind: z.enum(INCIDENT_KINDS),
  site: textOrNull.describe('Null when it is about a subscriber, about replicas of the daemon, or about several sites.'),
  state: stateOrNull.describe('Null when it is about no state, or about several.'),
  subscriber: textOrNull.describe('The subscriber that takes nothing, or not everything.'),
  parent: textOrNull.describe('The incident that this one is part of.'),
  where: z.string().openapi({ description: 'In a few words for people: a site, a subscriber, or how many.', example: 'demo-se' }),
  what: z.string().openapi({
    description: 'What is wrong, in a few words for people.',
    example: '14 customers stuck waiting for the card provider',
  }),
  parts: z.array(partSchema).describe('Its parts, open ones first, the largest first; 200 at most.'),
  status: z.enum(['open', 'ended']),
  severity: z.enum(['warning', 'critical']),
  openedAt: timeSchema,
  since: timeSchema.describe('The earliest symptom.'),
  quietSince: timeOrNull.describe('Since when nothing is wrong any more; it ends when that lasts.'),
  endsAt: timeOrNull.describe(
    'When the incident ends if nothing goes wrong again. Null while something is wrong, such as a stuck customer, and once the incident has ended. Where customers were stuck, `endsAt` may be set while `quietSince` is still null: no customer is stuck, and the alarm is still on.',
  ),
  endsUnless: textOrNull.openapi({
    description: 'What keeps it from that end, in a few words for people.',
    example: 'unless calls fail again',
  }),
  endedAt: timeOrNull,
  reopenedAt: timeOrNull.describe('When it came back after it had ended.'),
  count: z
    .int()
    .describe(
      'Customers that are stuck now; 1 for a site of which no purchase is read; deliveries that wait, or were given up, for a subscriber, counted to 100 000; replicas that cannot do their work.',
    ),
  peak: z.int(),
  alarm: orNull(alarmSchema).describe('What it rests on; null where it rests on no count.'),
  alertedAt: timeOrNull.describe('When people were last alerted: on Slack, or in the log where Slack takes nothing.'),
  owner: textOrNull.describe('Who looks after it, or after the incident that it is part of.'),
  acknowledged: orNull(acknowledgementSchema),
  answer: orNull(answerSchema).describe('What it was, as a person said.'),
  silencedUntil: timeOrNull.describe('While a silence keeps people from being alerted of it.'),
});

/** An incident in an answer. */
export type IncidentBody = z.output<typeof incidentSchema>;

export const moneySchema = named('MoneyWaiting', {
  waiting: listOf({ amount: z.string(), currency: z.string() }).openapi({
    description: 'The sums by currency, those of most orders first; an order counts once.',
    example: [{ amount: '16482.50', currency: 'SEK' }],
  }),
  unpriced: z.int().describe('Orders without a known amount.'),
  counted: z.int().describe('Stuck purchases that the sums are of.'),
  atLeast: z.boolean().describe('Whether more than 1000 wait in a state of a site: then only those are counted.'),
});

export const listedIncidentSchema = incidentSchema
  .extend({
    money: orNull(moneySchema).describe(
      'What the customers who are stuck now wait with; null for an incident that is over or about no stuck customers.',
    ),
  })
  .openapi('ListedIncident');

/** An incident of a list, in an answer. */
export type ListedIncidentBody = z.output<typeof listedIncidentSchema>;

const messageSchema = z.object({
  channel: z.string().describe('The subscriber.'),
  stage: z.string().openapi({ description: '`opened`, `reopened`, `grew`, `reminder` or `ended`.', example: 'opened' }),
  at: timeSchema.describe('When it was delivered or given up; while it waits, when it was written.'),
  status: z.enum(DELIVERY_STATUSES),
});

const limitSchema = z.object({
  ms: z.int(),
  usualMs: intOrNull.describe('How long half of the customers take who get on.'),
  p95Ms: intOrNull.describe('Within which 95 of 100 of them get on.'),
  purchases: intOrNull.describe('How many of them are known.'),
});

const earlierSchema = z.object({
  site: textOrNull,
  state: stateOrNull,
  cause: z.string(),
  title: z.string(),
  note: textOrNull,
  by: textOrNull,
  at: timeOrNull,
});

const sliceCount = z.object({ came: z.int(), stuck: z.int() });
export const sliceSchema = named('IncidentSlice', {
  method: textOrNull.describe('`PaymentMethod`; null: several.'),
  country: textOrNull.describe('`CountryCode`; null: several.'),
  currency: textOrNull.describe('`CurrencyCode`; null: several.'),
  since: timeSchema.describe('When the first customer of the slice came who became stuck.'),
  inside: sliceCount.describe('Customers of the slice.'),
  elsewhere: sliceCount.describe('Customers who came to the same states in the same time and are not of the slice.'),
});

export const nearMark = orNull(z.object({ at: timeSchema, text: z.string() }));

export const incidentDetailsSchema = incidentSchema
  .extend({
    causes: listOf({
      cause: z.string(),
      why: z.string().describe('What speaks for it.'),
      likely: z.boolean().describe('False while it is merely possible: too few customers speak for it.'),
      title: z.string().openapi({ description: 'The cause in a few words.', example: 'A deploy broke the page' }),
      remedy: textOrNull.describe('What to look at first; null for a cause that a later version named.'),
    }).describe('What it may be, the likeliest first, as people were alerted last.'),
    slice: orNull(sliceSchema).describe(
      'Where it is, when that is not everywhere: the narrowest slice of customers that holds the fault, as people were alerted last. `GET /v1/incidents/{id}/customers` has it as it is now.',
    ),
    mark: nearMark.describe('The mark nearest to its beginning, as people were alerted last.'),
    wrong: z
      .array(z.string())
      .describe(
        'Of a site or of daemons: what exactly is wrong, in sentences. Of stuck customers for whom no cause is named: what may be. Empty when it is over, but for what the database lost.',
      ),
    todo: z.array(z.string()).describe('What to do about what is `wrong`, in sentences.'),
    meanwhile: z.array(z.string()).describe('What goes on, or does not, as long as it is wrong, in sentences.'),
    limit: orNull(limitSchema).describe(
      'After how long a customer is stuck there, as people were alerted last; null for several states or sites.',
    ),
    earlier: orNull(earlierSchema).describe('What it was the last time this happened, as people were alerted last.'),
    said: z.array(messageSchema).describe('Who was alerted of what, first to last.'),
    nextReminderAt: timeOrNull.describe(
      'When people are reminded of the incident unless it changes before; null when no reminder is planned: no person was alerted, a person looks after the incident, the incident is part of another one, or it is over.',
    ),
  })
  .openapi('IncidentDetails');

/** One incident, with what people were alerted of. */
export type IncidentDetailsBody = z.output<typeof incidentDetailsSchema>;

export const silenceSchema = named('Silence', {
  id: z.string(),
  site: textOrNull,
  state: stateOrNull,
  kind: z.enum(INCIDENT_KINDS).nullable(),
  subscriber: textOrNull,
  reason: z.string(),
  by: z.string(),
  createdAt: timeSchema,
  startsAt: timeSchema,
  endsAt: timeSchema,
  status: z.enum(['coming', 'active', 'over']),
});

/** A silence in an answer. */
export type SilenceBody = z.output<typeof silenceSchema>;
