/** An explanation as the API and `why --json` show it: times as text, states with their names. */

import { z } from '@hono/zod-openapi';
import type { Explanation } from '../../domain/explain/explain.ts';
import { type ExplanationStep, MATTER_CODES, STEP_KINDS } from '../../domain/explain/step.ts';
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import { limitSchema, stateBody, stateOrNull, stateSchema, statusSchema, timeSchema } from './purchase-body.ts';

const stepSchema = z
  .object({
    at: timeSchema.nullable().openapi({ description: 'Null for what has no moment of its own, or none yet.' }),
    kind: z.enum(STEP_KINDS),
    text: z.string().openapi({ description: 'For people. Programs go by the fields; the words may change.' }),
    wrong: z.boolean().openapi({ description: 'Whether somebody may have to do something about it.' }),
    sequence: z.int().optional().openapi({ description: 'Of the event it is about.' }),
    eventId: z.string().optional(),
    type: z.string().optional().openapi({ description: "The event's type." }),
    from: stateOrNull.optional(),
    to: stateSchema.optional(),
    subscriber: z.string().optional(),
    status: z.string().optional().openapi({ description: 'Of a delivery: as in deliveries, or `none` with the reason.' }),
    reason: z
      .string()
      .optional()
      .openapi({ description: 'A stable word: why the next poll is when it is, or why there is no delivery.' }),
    attempt: z.int().optional(),
    outcome: z.string().optional(),
    httpStatus: z.int().nullable().optional(),
    incidentId: z.string().optional(),
    channels: z
      .array(z.string())
      .readonly()
      .optional()
      .openapi({ description: 'Of an alert: the channels for people that got it.' }),
    limit: limitSchema.optional(),
  })
  .openapi('ExplanationStep');

export const explanationSchema = z
  .object({
    at: timeSchema.openapi({ description: 'The moment that all of it is about, by the clock of the database.' }),
    purchase: z.object({
      purchaseId: z.string(),
      site: z.string(),
      reference: z.string().nullable(),
      status: statusSchema,
      state: stateOrNull,
      stateSince: timeSchema.nullable(),
      stuckSince: timeSchema.nullable(),
      registeredAt: timeSchema,
      registeredBy: z.string().nullable().openapi({ description: '`api`, `cli`, or `sql:` and the role; null when not noted.' }),
      watchedSince: timeSchema,
      lastPolledAt: timeSchema.nullable(),
      nextPollAt: timeSchema.nullable(),
      polls: z.int(),
      shard: z.int(),
      replica: z.string().nullable().openapi({ description: 'Who polls it and delivers its events; null while nobody does.' }),
    }),
    verdict: z.string().openapi({ description: 'In one sentence what is the matter, or that all is well.' }),
    matters: z
      .array(z.object({ code: z.enum(MATTER_CODES), text: z.string() }))
      .openapi({ description: 'All that is the matter, the gravest first; empty when all is well.' }),
    steps: z.array(stepSchema).openapi({ description: 'What happened, first to last; who got an event follows that event.' }),
    standing: z.array(stepSchema).openapi({ description: 'How things stand now.' }),
    next: z.array(stepSchema).openapi({ description: 'What comes, soonest first.' }),
  })
  .openapi('Explanation');

/** An explanation in an answer. */
export type ExplanationBody = z.output<typeof explanationSchema>;

/** An explanation as its body. */
export function explanationBody(explanation: Explanation): z.output<typeof explanationSchema> {
  const { now, purchase, verdict, matters, steps, standing, next } = explanation;
  return {
    at: isoTime(now),
    purchase: {
      ...purchase,
      state: stateBody(purchase.state),
      stateSince: isoTimeOrNull(purchase.stateSince),
      stuckSince: isoTimeOrNull(purchase.stuckSince),
      registeredAt: isoTime(purchase.registeredAt),
      watchedSince: isoTime(purchase.watchedSince),
      lastPolledAt: isoTimeOrNull(purchase.lastPolledAt),
      nextPollAt: isoTimeOrNull(purchase.nextPollAt),
    },
    verdict,
    matters: matters.map((matter) => ({ ...matter })),
    steps: steps.map(stepBody),
    standing: standing.map(stepBody),
    next: next.map(stepBody),
  };
}

function stepBody({ at, kind, text, wrong = false, from, to, ...rest }: ExplanationStep): z.output<typeof stepSchema> {
  return {
    at: isoTimeOrNull(at),
    kind,
    text,
    wrong,
    ...(from === undefined ? {} : { from: stateBody(from) }),
    ...(to === undefined ? {} : { to: stateBody(to)! }),
    ...rest,
  };
}
