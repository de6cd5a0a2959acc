/** The checks of single fields and parameters. Every message says what was expected. */
import { z } from '@hono/zod-openapi';
import { readWord } from '../../actions/incidents/rules.ts';
import { metadataProblem, referenceProblem } from '../../actions/registrations/fields.ts';
import { readMoment } from '../../actions/subscribers/moment.ts';
import { readState } from '../../actions/subscribers/rules.ts';
import { distance, suggestion } from '../../config/kinds/nearest.ts';
import { PURCHASE_STATUSES } from '../../domain/purchases/purchase.ts';
import { idProblem, newIdProblem } from '../../domain/purchases/purchase-id.ts';
import { formatDuration, parseDuration } from '../../domain/values/duration.ts';
import type { JsonObject } from '../../domain/values/exact-json.ts';
import { LONGEST_TEXT, lineProblem } from '../../domain/values/one-line.ts';
import { isZone } from '../../runtime/loops/schedule.ts';
import type { IssueNote } from './invalid.ts';

const MOST_SITES_NAMED = 10;

/** Fields of answers. */
export const textOrNull = z.string().nullable();
export const intOrNull = z.int().nullable();
export const numberOrNull = z.number().nullable();

/** The same or null. Not nullable(): that would make null a part of a schema that has a name. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);

/** An object that has a name in the OpenAPI document. */
export function named<Fields extends z.core.$ZodLooseShape>(name: string, fields: Fields) {
  return z.object(fields).openapi(name);
}

/** A list of objects with these fields. */
export function listOf<Fields extends z.core.$ZodLooseShape>(fields: Fields) {
  return z.array(z.object(fields));
}

export const flagField = z.boolean({ error: 'must be true or false' });

/** Text, for which `problem` may name a fault. `noText` says what is wrong with anything else. */
function text(problem: (value: string) => string | null, note: IssueNote = {}, noText = notText) {
  return z.string({ error: noText }).superRefine((value, ctx) => {
    const message = problem(value);
    if (message !== null) ctx.addIssue({ code: 'custom', message, params: { ...note } });
  });
}

/** A parameter that stands for something else: `read` answers its meaning, or what was expected as a sentence. */
export function parameter<Meaning>(read: (value: string) => { is: Meaning } | { problem: string }, note: IssueNote = {}) {
  return z.string({ error: notText }).transform((value, ctx) => {
    const found = read(value);
    if ('is' in found) return found.is;
    ctx.addIssue({ code: 'custom', message: found.problem, params: { ...note } });
    return z.NEVER;
  });
}

/** The fault of a parameter or field that is no text. */
export function notText({ input }: { input?: unknown }): string {
  if (input === undefined) return 'is missing';
  return Array.isArray(input) ? 'is given more than once; give it once' : 'must be text';
}

/** A parameter of one line; `what` names it for a caller who gave none. */
export function lineParameter(what: string) {
  return text((value) => lineProblem(value, what)).describe(`${what[0]!.toUpperCase()}${what.slice(1)}.`);
}

const ID_SCHEMA = { minLength: 1, maxLength: LONGEST_TEXT, example: '3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11' } as const;

/** The id of a purchase that may be registered already. */
export const purchaseIdField = text(idProblem).openapi(ID_SCHEMA);

/** The id of a purchase to register. */
export const newPurchaseIdField = text(newIdProblem).openapi(ID_SCHEMA);

export const referenceField = text(referenceProblem).openapi({
  minLength: 1,
  maxLength: LONGEST_TEXT,
  description: 'Your own name for it, such as an order number.',
  example: 'ORD-1',
});

export const metadataField = z
  .custom<JsonObject>()
  .superRefine((value, ctx) => {
    const message = metadataProblem(value);
    if (message !== null) ctx.addIssue({ code: 'custom', message, params: { hideValue: true } satisfies IssueNote });
  })
  .openapi({
    type: ['object', 'null'],
    additionalProperties: true,
    description: 'Any JSON object up to 8 KiB; comes back in every event. Numbers keep their digits.',
    example: { cart: 7 },
  });

/** The name of one of these sites, or a former name of one. `isNeeded`: without it, none is meant. */
export function siteField(names: readonly string[], { isNeeded = false, formerly = [] as readonly string[] } = {}) {
  const known = new Set([...names, ...formerly]);
  const problem = (value: string) => (known.has(value) ? null : siteProblem(value, names));
  const missing = ({ input }: { input?: unknown }): string =>
    input == null ? `is missing, and no site is named default; ${listedSites(names)}` : notText({ input });
  return text(problem, { code: 'unknown_site' }, isNeeded ? missing : notText).openapi({
    description: 'A configured site. Needed only when there are several and none is named default.',
    example: names[0] ?? 'default',
  });
}

/** Why this is not one of these sites, or null. The names that come closest stand first. */
export function siteProblem(name: string, names: readonly string[]): string | null {
  if (names.includes(name)) return null;
  if (names.length === 0) return 'there are no sites in the configuration';
  const short = name.slice(0, LONGEST_TEXT);
  const steps = new Map(names.map((known) => [known, distance(short, known)]));
  const near = names.toSorted((a, b) => steps.get(a)! - steps.get(b)!);
  return `is not a site of the configuration${suggestion(short, names)}; ${listedSites(near)}`;
}

function listedSites(names: readonly string[]): string {
  if (names.length === 0) return 'there are no sites in the configuration';
  const more = names.length > MOST_SITES_NAMED ? ` and ${names.length - MOST_SITES_NAMED} more` : '';
  return `there ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, MOST_SITES_NAMED).join(', ')}${more}`;
}

/** The site of a filter; whether it exists is asked of the database, which also knows former sites. */
export const siteParameter = text((value) => lineProblem(value, 'the name of a site')).openapi({
  description: 'The name of a site.',
  example: 'default',
});

/** The subscriber of a filter. */
export const subscriberParameter = text((value) => lineProblem(value, 'the name of a subscriber')).openapi({
  description: 'The name of a subscriber.',
  example: 'default',
});

export const stateParameter = parameter(readState).openapi({
  type: 'string',
  description: 'A state by name or number.',
  example: 'WaitingForCardPayments',
});

/** A state in a body, by name or number. */
export const stateField = z
  .union([z.string(), z.number()], { error: 'must be a state, by name or number' })
  .transform((value, ctx) => {
    const found = readState(String(value));
    if ('is' in found) return found.is;
    ctx.addIssue({ code: 'custom', message: found.problem });
    return z.NEVER;
  })
  .openapi({ type: ['string', 'integer'], example: 'WaitingForCardPayments' });

/** One of a few words; `what` names them for a caller who gave another. */
export function wordParameter<Word extends string>(words: readonly Word[], what: string) {
  return parameter<Word>((value) => readWord(value, words, what)).openapi({ type: 'string', enum: [...words] });
}

export const statusParameter = wordParameter(PURCHASE_STATUSES, 'status');

export const stuckParameter = parameter((value) =>
  value === 'true' || value === 'false' ? { is: value === 'true' } : { problem: 'must be true or false' },
).openapi({ type: 'string', enum: ['true', 'false'], description: 'Whether it is stuck now.' });

/** A zone, by whose clocks days begin and hours are counted. */
export const zoneParameter = parameter<string>((value) =>
  isZone(value)
    ? { is: value }
    : { problem: `must be the IANA name of a zone such as Europe/Stockholm, and not ${JSON.stringify(value)}` },
);

/** A length of time such as `5s`. */
export function durationParameter(most: number) {
  return parameter((value) => {
    const length = value === '0' ? 0 : parseDuration(value);
    if (length !== null && length <= most) return { is: length };
    return { problem: `must be a duration such as 500ms or 5s, ${formatDuration(most)} at most` };
  }).openapi({ type: 'string', example: '5s', description: `How long to wait for the result; ${formatDuration(most)} at most.` });
}

/** A moment whose meaning depends on the database's clock. */
export const momentParameter = parameter((value) => {
  const checked = readMoment(value, 0);
  if ('problem' in checked) return checked;
  return {
    is: (now: number): number => {
      const read = readMoment(value, now);
      return 'is' in read ? read.is : now;
    },
  };
}).openapi({ type: 'string', example: '2h', description: 'A time with its zone, or a duration back from now.' });
