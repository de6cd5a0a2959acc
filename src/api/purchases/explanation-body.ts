/** An explanation as the API and `why --json` show it: times as text, states with their names. */

import { z } from '@hono/zod-openapi';
import { MATTER_CODES, STEP_KINDS } from '../../domain/explain/step.ts';
import { intOrNull, listOf, named, textOrNull } from '../http/fields.ts';
import { limitSchema, stateOrNull, stateSchema, statusSchema, timeOrNull, timeSchema } from './purchase-body.ts';

const stepSchema = named('ExplanationStep', {
  at: timeOrNull.describe('Null for what has no moment of its own, or none yet.'),
  kind: z.enum(STEP_KINDS),
  text: z.string().describe('For people. Programs go by the fields; the words may change.'),
  wrong: z.boolean().describe('Whether a person may have to act because of this step.'),
  sequence: z.int().optional().describe('Of the event it is about.'),
  eventId: z.string().optional(),
  type: z.string().optional().describe("The event's type."),
  from: stateOrNull.optional(),
  to: stateSchema.optional(),
  subscriber: z.string().optional(),
  status: z.string().optional().describe('Of a delivery: as in deliveries, or `none` with the reason.'),
  reason: z.string().optional().describe('A stable word: why the next poll is when it is, or why there is no delivery.'),
  attempt: z.int().optional(),
  outcome: z.string().optional(),
  httpStatus: intOrNull.optional(),
  incidentId: z.string().optional(),
  channels: z.array(z.string()).readonly().optional().describe('Of an alert: the channels for people that got it.'),
  limit: limitSchema.optional(),
});

export const explanationSchema = named('Explanation', {
  at: timeSchema.describe('The moment that all of it is about, by the clock of the database.'),
  purchase: z.object({
    purchaseId: z.string(),
    site: z.string(),
    reference: textOrNull,
    status: statusSchema,
    state: stateOrNull,
    stateSince: timeOrNull,
    stuckSince: timeOrNull,
    registeredAt: timeSchema,
    registeredBy: textOrNull.describe('`api`, `cli`, or `sql:` and the role; null when not noted.'),
    watchedSince: timeSchema,
    lastPolledAt: timeOrNull,
    nextPollAt: timeOrNull,
    polls: z.int(),
    shard: z.int(),
    replica: textOrNull.describe(
      'Id of the replica that polls the purchase and delivers its events; null while no replica does.',
    ),
  }),
  verdict: z.string().describe('In one sentence what is the matter, or that all is well.'),
  matters: listOf({
    code: z.enum(MATTER_CODES),
    text: z.string(),
  }).describe('All that is the matter, the gravest first; empty when all is well.'),
  steps: z.array(stepSchema).describe('What happened, first to last; who got an event follows that event.'),
  standing: z.array(stepSchema).describe('How things stand now.'),
  next: z.array(stepSchema).describe('What comes, soonest first.'),
});

export type ExplanationBody = z.output<typeof explanationSchema>;
