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
import { parameter, wordParameter } from '../http/fields.ts';
import { stateOrNull, timeSchema } from '../purchases/purchase-body.ts';

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

const partSchema = z
  .object({
    id: z.string(),
    site: z.string().nullable(),
    state: stateOrNull,
    count: z.int(),
    peak: z.int(),
    endedAt: timeSchema.nullable(),
  })
  .openapi('IncidentPart');

const alarmSchema = z
  .object({
    rule: z.enum(['share', 'sparse']).openapi({
      description: '`share`: too many of the latest customers; `sparse`: few customers come, and two in a row did not get on.',
    }),
    at: timeSchema.openapi({ description: 'When it was noticed.' }),
    since: timeSchema.openapi({ description: 'When the first customer came that speaks for it.' }),
    entrants: z.int().openapi({ description: 'Customers that were counted since then.' }),
    overdue: z.int().openapi({ description: 'Those of them that became stuck.' }),
    usualShare: z.number().openapi({ description: 'The share that is usual, from 0 to 1.' }),
    perDay: z.number().nullable().openapi({ description: 'Customers a day, as far as is known.' }),
    falseAlarmEvery: z
      .number()
      .nullable()
      .openapi({ description: 'One false alarm in about so many customers is to be expected; null where that is not known.' }),
  })
  .openapi('Alarm');

export const acknowledgementSchema = z.object({ at: timeSchema, by: z.string(), note: z.string().nullable() });
const answerSchema = z.object({ cause: z.string(), note: z.string().nullable(), by: z.string(), at: timeSchema });

export const incidentSchema = z
  .object({
    id: z.string(),
    kind: z.enum(INCIDENT_KINDS),
    site: z
      .string()
      .nullable()
      .openapi({ description: 'Null when it is about a subscriber, about replicas of the daemon, or about several sites.' }),
    state: stateOrNull.openapi({ description: 'Null when it is about no state, or about several.' }),
    subscriber: z.string().nullable().openapi({ description: 'The subscriber that takes nothing, or not everything.' }),
    parent: z.string().nullable().openapi({ description: 'The incident that this one is part of.' }),
    where: z
      .string()
      .openapi({ description: 'In a few words for people: a site, a subscriber, or how many.', example: 'demo-se' }),
    what: z.string().openapi({
      description: 'What is wrong, in a few words for people.',
      example: '14 customers stuck waiting for the card provider',
    }),
    parts: z.array(partSchema).openapi({ description: 'Its parts, open ones first, the largest first; 200 at most.' }),
    status: z.enum(['open', 'ended']),
    severity: z.enum(['warning', 'critical']),
    openedAt: timeSchema,
    since: timeSchema.openapi({ description: 'The earliest symptom.' }),
    quietSince: timeSchema.nullable().openapi({ description: 'Since when nothing is wrong any more; it ends when that lasts.' }),
    endsAt: timeSchema.nullable().openapi({
      description:
        'When the incident ends if nothing goes wrong again. Null while something is wrong, such as a stuck customer, and once the incident has ended. Where customers were stuck, `endsAt` may be set while `quietSince` is still null: no customer is stuck, and the alarm is still on.',
    }),
    endsUnless: z
      .string()
      .nullable()
      .openapi({ description: 'What keeps it from that end, in a few words for people.', example: 'unless calls fail again' }),
    endedAt: timeSchema.nullable(),
    reopenedAt: timeSchema.nullable().openapi({ description: 'When it came back after it had ended.' }),
    count: z.int().openapi({
      description:
        'Customers that are stuck now; 1 for a site of which no purchase is read; deliveries that wait, or were given up, for a subscriber, counted to 100 000; replicas that cannot do their work.',
    }),
    peak: z.int(),
    alarm: z.union([alarmSchema, z.null()]).openapi({ description: 'What it rests on; null where it rests on no count.' }),
    saidAt: timeSchema
      .nullable()
      .openapi({ description: 'When people were last alerted: on Slack, or in the log where Slack takes nothing.' }),
    owner: z.string().nullable().openapi({ description: 'Who looks after it, or after the incident that it is part of.' }),
    acknowledged: z.union([acknowledgementSchema, z.null()]),
    answer: z.union([answerSchema, z.null()]).openapi({ description: 'What it was, as a person said.' }),
    silencedUntil: timeSchema.nullable().openapi({ description: 'While a silence keeps people from being alerted of it.' }),
  })
  .openapi('Incident');

/** An incident in an answer. */
export type IncidentBody = z.output<typeof incidentSchema>;

export const moneySchema = z
  .object({
    waiting: z.array(z.object({ amount: z.string(), currency: z.string() })).openapi({
      description: 'The sums by currency, those of most orders first; an order counts once.',
      example: [{ amount: '16482.50', currency: 'SEK' }],
    }),
    unpriced: z.int().openapi({ description: 'Orders without a known amount.' }),
    counted: z.int().openapi({ description: 'Stuck purchases that the sums are of.' }),
    atLeast: z
      .boolean()
      .openapi({ description: 'Whether more than 1000 wait in a state of a site: then only those are counted.' }),
  })
  .openapi('MoneyWaiting');

export const listedIncidentSchema = incidentSchema
  .extend({
    money: z.union([moneySchema, z.null()]).openapi({
      description:
        'What the customers who are stuck now wait with; null for an incident that is over or about no stuck customers.',
    }),
  })
  .openapi('ListedIncident');

/** An incident of a list, in an answer. */
export type ListedIncidentBody = z.output<typeof listedIncidentSchema>;

const messageSchema = z.object({
  channel: z.string().openapi({ description: 'The subscriber.' }),
  stage: z.string().openapi({ description: '`opened`, `reopened`, `grew`, `reminder` or `ended`.', example: 'opened' }),
  at: timeSchema.openapi({ description: 'When it was delivered or given up; while it waits, when it was written.' }),
  status: z.enum(DELIVERY_STATUSES),
});

const limitSchema = z.object({
  ms: z.int(),
  usualMs: z.int().nullable().openapi({ description: 'How long half of the customers take who get on.' }),
  p95Ms: z.int().nullable().openapi({ description: 'Within which 95 of 100 of them get on.' }),
  purchases: z.int().nullable().openapi({ description: 'How many of them are known.' }),
});

const earlierSchema = z.object({
  site: z.string().nullable(),
  state: stateOrNull,
  cause: z.string(),
  title: z.string(),
  note: z.string().nullable(),
  by: z.string().nullable(),
  at: timeSchema.nullable(),
});

export const incidentDetailsSchema = incidentSchema
  .extend({
    causes: z
      .array(
        z.object({
          cause: z.string(),
          why: z.string().openapi({ description: 'What speaks for it.' }),
          likely: z.boolean().openapi({ description: 'False while it is merely possible: too few customers speak for it.' }),
          title: z.string().openapi({ description: 'The cause in a few words.', example: 'A deploy broke the page' }),
          remedy: z
            .string()
            .nullable()
            .openapi({ description: 'What to look at first; null for a cause that a later version named.' }),
        }),
      )
      .openapi({ description: 'What it may be, the likeliest first, as people were alerted last.' }),
    wrong: z.array(z.string()).openapi({
      description:
        'Of a site or of daemons: what exactly is wrong, in sentences. Of stuck customers for whom no cause is named: what may be. Empty when it is over, but for what the database lost.',
    }),
    todo: z.array(z.string()).openapi({ description: 'What to do about what is `wrong`, in sentences.' }),
    meanwhile: z.array(z.string()).openapi({ description: 'What goes on, or does not, as long as it is wrong, in sentences.' }),
    limit: z.union([limitSchema, z.null()]).openapi({
      description: 'After how long a customer is stuck there, as people were alerted last; null for several states or sites.',
    }),
    earlier: z
      .union([earlierSchema, z.null()])
      .openapi({ description: 'What it was the last time this happened, as people were alerted last.' }),
    said: z.array(messageSchema).openapi({ description: 'Who was alerted of what, first to last.' }),
    nextReminderAt: timeSchema.nullable().openapi({
      description:
        'When people are reminded of it unless it changes before; null when no reminder is planned: nobody was alerted, a person looks after it, it is part of another one, or it is over.',
    }),
  })
  .openapi('IncidentDetails');

/** One incident, with what people were alerted of. */
export type IncidentDetailsBody = z.output<typeof incidentDetailsSchema>;

export const silenceSchema = z
  .object({
    id: z.string(),
    site: z.string().nullable(),
    state: stateOrNull,
    kind: z.enum(INCIDENT_KINDS).nullable(),
    subscriber: z.string().nullable(),
    reason: z.string(),
    by: z.string(),
    createdAt: timeSchema,
    startsAt: timeSchema,
    endsAt: timeSchema,
    status: z.enum(['coming', 'active', 'over']),
  })
  .openapi('Silence');

/** A silence in an answer. */
export type SilenceBody = z.output<typeof silenceSchema>;
