/** The fields of incidents and silences: how they are checked and how they are shown. */
import { z } from '@hono/zod-openapi';
import { suggestion } from '../config/nearest.ts';
import { parseDuration } from '../core/duration.ts';
import { isoTime, isoTimeOrNull } from '../core/events.ts';
import type { IncidentKind } from '../core/incident.ts';
import type { Instant } from '../core/purchase.ts';
import { STATE_NAMES, stateValue } from '../core/states.ts';
import type { IncidentRow } from '../store/incident-list.ts';
import type { SilenceRow } from '../store/silences.ts';
import { readMoment } from '../subscription/moment.ts';
import { parameter } from './fields.ts';
import { stateBody, stateOrNull, timeSchema } from './purchase-body.ts';

const KINDS = ['stuck', 'unreachable', 'subscriber'] as const satisfies readonly IncidentKind[];

/** One of a few words. */
export function wordParameter<Word extends string>(words: readonly Word[], what: string) {
  return parameter<Word>((value) => {
    const word = words.find((each) => each === value);
    if (word !== undefined) return { is: word };
    return { problem: `is no ${what}${suggestion(value.slice(0, 100), words)}; there are ${words.join(', ')}` };
  }).openapi({ type: 'string', enum: [...words] });
}

export const kindParameter = wordParameter(KINDS, 'kind of incident');

/** Some words of a person. */
export function wordsField(most: number, what: string) {
  return parameter((value) => {
    if (value.trim() === '') return { problem: `is empty; give ${what}` };
    if ([...value].length > most) return { problem: `is longer than ${most} characters` };
    if (!value.isWellFormed() || value.includes('\u0000')) return { problem: 'holds what is no character' };
    return { is: value };
  }).openapi({ type: 'string', minLength: 1, maxLength: most });
}

export const byField = wordsField(200, 'a name').openapi({ description: 'Who says so, for the others.', example: 'Kim' });

export const stateField = z
  .union([z.string(), z.number()], { error: 'must be a state, by name or number' })
  .transform((value, ctx) => {
    const state = stateValue(String(value));
    if (state !== null) return state;
    const hint = suggestion(String(value).slice(0, 100), STATE_NAMES);
    ctx.addIssue({ code: 'custom', message: `is no state${hint}; give a number or one of ${STATE_NAMES.join(', ')}` });
    return z.NEVER;
  })
  .openapi({ type: ['string', 'integer'], example: 'WaitingForCardPayments' });

/** A moment to come, as a time or as a duration; its meaning depends on the database's clock. */
export const comingField = parameter<(now: Instant) => Instant>((value) => {
  const ahead = parseDuration(value);
  if (ahead !== null) return { is: (now) => now + ahead };
  const read = readMoment(value, 0);
  return 'is' in read
    ? { is: () => read.is }
    : { problem: 'must be a time with its zone such as 2026-11-20T09:15:00Z, or a duration from now such as 2h' };
}).openapi({ type: 'string', example: '2h' });

/** What incidents' ids look like; whether there is one is asked of the database. */
export const incidentIdField = parameter((value) =>
  /^[\w-]{1,60}$/.test(value)
    ? { is: value }
    : { problem: 'is no id of an incident; they look like inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2' },
).openapi({ type: 'string', pattern: '^[A-Za-z0-9_-]{1,60}$', example: 'inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2' });

export const silenceIdField = parameter((value) => {
  const [, digits] = /^sil_([1-9]\d{0,14})$/.exec(value) ?? [];
  return digits === undefined ? { problem: 'is no id of a silence; they look like sil_42' } : { is: Number(digits) };
}).openapi({ type: 'string', pattern: '^sil_[1-9][0-9]{0,14}$', example: 'sil_42' });

export const incidentSchema = z
  .object({
    id: z.string(),
    kind: z.enum(KINDS),
    site: z.string().nullable().openapi({ description: 'Null when it is about a subscriber.' }),
    state: stateOrNull.openapi({ description: 'Null when it is about no state.' }),
    subscriber: z.string().nullable().openapi({ description: 'The subscriber that takes nothing, or not everything.' }),
    status: z.enum(['open', 'ended']),
    openedAt: timeSchema,
    since: timeSchema.openapi({ description: 'The earliest symptom.' }),
    quietSince: timeSchema.nullable().openapi({ description: 'Since when nothing is wrong any more; it ends when that lasts.' }),
    endedAt: timeSchema.nullable(),
    count: z.int().openapi({
      description:
        'Purchases that are stuck now; 1 for a site; deliveries that wait, or were given up, for a subscriber, counted to 1000.',
    }),
    peak: z.int(),
    saidAt: timeSchema
      .nullable()
      .openapi({ description: 'When people were last told: on Slack, or in the log where Slack takes nothing.' }),
    acknowledged: z.union([z.object({ at: timeSchema, by: z.string(), note: z.string().nullable() }), z.null()]),
    silencedUntil: timeSchema.nullable().openapi({ description: 'While a silence keeps people from hearing of it.' }),
  })
  .openapi('Incident');

/** An incident as its body. */
export function incidentBody(row: IncidentRow): z.output<typeof incidentSchema> {
  const { id, kind, site, state, subscriber, count, peak, acknowledgedAt, acknowledgedBy, acknowledgedNote } = row;
  return {
    id,
    kind,
    site,
    state: stateBody(state),
    subscriber,
    status: row.endedAt === null ? 'open' : 'ended',
    openedAt: isoTime(row.openedAt),
    since: isoTime(row.since),
    quietSince: isoTimeOrNull(row.quietSince),
    endedAt: isoTimeOrNull(row.endedAt),
    count,
    peak,
    saidAt: isoTimeOrNull(row.saidAt),
    acknowledged:
      acknowledgedAt === null ? null : { at: isoTime(acknowledgedAt), by: acknowledgedBy ?? '', note: acknowledgedNote },
    silencedUntil: isoTimeOrNull(row.silencedUntil),
  };
}

export const silenceSchema = z
  .object({
    id: z.string(),
    site: z.string().nullable(),
    state: stateOrNull,
    kind: z.enum(KINDS).nullable(),
    subscriber: z.string().nullable(),
    reason: z.string(),
    by: z.string(),
    createdAt: timeSchema,
    startsAt: timeSchema,
    endsAt: timeSchema,
    status: z.enum(['coming', 'active', 'over']),
  })
  .openapi('Silence');

/** A silence as its body, at a moment of the database's clock. */
export function silenceBody(row: SilenceRow, now: Instant): z.output<typeof silenceSchema> {
  const { id, site, state, kind, subscriber, reason, by, createdAt, startsAt, endsAt } = row;
  return {
    id: `sil_${id}`,
    site,
    state: stateBody(state),
    kind,
    subscriber,
    reason,
    by,
    createdAt: isoTime(createdAt),
    startsAt: isoTime(startsAt),
    endsAt: isoTime(endsAt),
    status: endsAt <= now ? 'over' : startsAt <= now ? 'active' : 'coming',
  };
}
