/**
 * The tools of `purchase-watch mcp`: each asks the daemon's API one question. The schema of its output names the fields that are
 * answered, and no field for names of people, their notes, references of orders and texts of messages.
 */
import { z } from 'zod';
import type { ApiCall } from '../../../packages/client/src/http.ts';
import { decimalText, type JsonValue } from '../../../packages/client/src/json.ts';
import { INCIDENT_ID, INCIDENT_KINDS } from '../../actions/incidents/rules.ts';
import { TREND_RANGES } from '../../domain/trends/period.ts';

const text = z.string();
const textOrNull = text.nullable();
const count = z.int();
const share = z.number().nullable().describe('From 0 to 1; null: too few customers to say.');
const state = z.object({ value: count, name: text }).nullable().meta({ id: 'State' });
/** An amount of the API, which may be a number with more digits than a double has. */
const amount = z.preprocess((value) => decimalText(value as JsonValue) ?? value, text);
const site = text.optional().describe('The name of a site (a merchant account); all sites when left out.');

/** The same schema for each of these names, which spaces separate. */
const fields = (schema: z.ZodType, names: string) => Object.fromEntries(names.split(' ').map((name) => [name, schema]));
const listOf = (shape: Readonly<Record<string, z.ZodType>>) => z.array(z.object(shape));

interface Tool {
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  /** The call of the API for arguments that `input` has read. */
  // biome-ignore lint/suspicious/noExplicitAny: `tool` has checked it against the schema beside it.
  readonly ask: (given: any) => Pick<ApiCall, 'method' | 'path' | 'query' | 'body'>;
}

/** A tool whose question fits its input. */
function tool<Input extends z.ZodObject>(
  declared: Omit<Tool, 'ask'> & { readonly input: Input; readonly ask: (given: z.output<Input>) => ReturnType<Tool['ask']> },
): Tool {
  return declared;
}

const due = z.object({ count, atLeast: z.boolean(), oldestMs: count });

const status = tool({
  title: 'How everything is now',
  description:
    'Whether anything needs a person now, purchases by site, status and state with how many are stuck, whether polls are late, whether each site answers, whether each receiver gets its events. Ask it first.',
  input: z.strictObject({}),
  output: z.object({
    at: text,
    headline: z.object({
      ...fields(text, 'title text'),
      severity: textOrNull,
      needs: listOf({
        ...fields(text, 'kind about severity text todo'),
        since: textOrNull,
        incident: textOrNull.describe('The id of an incident.'),
      }),
    }),
    purchases: z.object({
      ...fields(count, 'total watching stuck'),
      groups: listOf({ ...fields(text, 'site status'), state, ...fields(count, 'count stuck'), oldestSince: textOrNull }),
    }),
    polling: z.object({ due }),
    sites: listOf({
      site: text,
      answers: z.boolean(),
      ...fields(textOrNull, 'failingSince reason lastReadAt'),
      openIncidents: count,
      due,
    }),
    subscribers: listOf({
      ...fields(text, 'name kind status'),
      health: z.object({ status: text, failures: count, ...fields(textOrNull, 'failingSince pausedUntil') }),
      failing: count,
      waiting: z.object({ ...fields(count, 'pending inFlight parked'), dueSince: textOrNull }),
    }),
    incidents: z.object({ open: count, severity: textOrNull }),
  }),
  ask: () => ({ method: 'GET', path: '/v1/overview' }),
});

const incidentFields = {
  ...fields(text, 'id kind where what status severity openedAt'),
  ...fields(textOrNull, 'site subscriber quietSince endsAt endedAt silencedUntil'),
  state,
  parent: textOrNull.describe('The incident that this one is part of.'),
  since: text.describe('The earliest symptom.'),
  count: count.describe('Customers stuck now; deliveries or daemons, for other kinds.'),
  peak: count,
  alertedAt: textOrNull.describe('When people were last alerted.'),
  acknowledged: z.object({ at: text }).nullable().describe('Whether a person looks after it; not who.'),
  answer: z.object({ cause: text, at: text }).nullable().describe('What it was, as a person said.'),
};
const money = z
  .object({ waiting: listOf({ amount: text, currency: text }), ...fields(count, 'unpriced counted'), atLeast: z.boolean() })
  .nullable()
  .describe('What stuck customers wait with; null when it is over or about no stuck customers.');

const incidents = tool({
  title: 'Incidents',
  description:
    'Incidents, the latest first: many customers stuck at one step of a site, a site or receiver that does not answer, a daemon in trouble. With money that waits.',
  input: z.strictObject({
    status: z.enum(['open', 'ended', 'all']).optional().describe('open when left out.'),
    site,
    kind: z.enum(INCIDENT_KINDS).optional(),
    limit: z.int().min(1).max(50).optional().describe('20 when left out.'),
    cursor: text.optional().describe('nextCursor of the page before.'),
  }),
  output: z.object({ data: listOf({ ...incidentFields, money }), nextCursor: textOrNull }),
  ask: ({ status: wanted = 'open', limit = 20, ...query }) => ({
    method: 'GET',
    path: '/v1/incidents',
    query: { status: wanted, limit, ...query },
  }),
});

const incident = tool({
  title: 'One incident',
  description:
    'What an incident is about: what is wrong, likely causes with what speaks for each, what to do, and who was alerted when.',
  input: z.strictObject({ id: text.regex(INCIDENT_ID, 'must be the id of an incident, such as inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2') }),
  output: z.object({
    ...incidentFields,
    causes: listOf({ ...fields(text, 'cause title why'), likely: z.boolean(), remedy: textOrNull }),
    ...fields(z.array(text), 'wrong todo'),
    limit: z.object({ ms: count, ...fields(count.nullable(), 'usualMs p95Ms') }).nullable(),
    said: listOf(fields(text, 'channel stage at status')),
  }),
  ask: ({ id }) => ({ method: 'GET', path: `/v1/incidents/${id}` }),
});

const step = z
  .object({
    ...fields(text.optional(), 'type subscriber status reason outcome'),
    ...fields(count.optional(), 'sequence attempt'),
    ...fields(state.optional(), 'from to'),
    at: textOrNull,
    kind: text,
    text: text.optional(),
    incidentId: text.optional(),
    wrong: z.boolean(),
    httpStatus: count.nullable().optional(),
  })
  // The words about an incident say who looks after it.
  .overwrite(({ text: words, ...rest }) => (rest.incidentId === undefined ? { text: words, ...rest } : rest))
  .meta({ id: 'Step' });

const why = tool({
  title: 'Why of one purchase',
  description:
    'Explains a purchase: in one sentence what is the matter, what happened to it, who got its events, how things stand, what comes next and why.',
  input: z.strictObject({
    // These two would be folders in the address.
    purchaseId: text
      .min(1)
      .max(200)
      .regex(/^(?!\.{1,2}$)/, 'must be a Purchase ID'),
    site: site.describe('Needed only where several sites have this id.'),
  }),
  output: z.object({
    ...fields(text, 'at verdict'),
    purchase: z.object({
      ...fields(text, 'purchaseId site status registeredAt'),
      ...fields(textOrNull, 'stateSince stuckSince lastPolledAt nextPollAt'),
      state,
      polls: count,
    }),
    matters: listOf(fields(text, 'code text')),
    ...fields(z.array(step), 'steps standing next'),
  }),
  ask: ({ purchaseId, site: of }) => ({
    method: 'GET',
    path: `/v1/purchases/${encodeURIComponent(purchaseId.toWellFormed())}/why`,
    query: { site: of },
  }),
});

const ends = { ...fields(count, 'customers paid paidByAnother notPaid open'), share };
const compared = { ...ends, change: text.describe('too_few, as_before, better or worse.'), before: z.object(ends) };
const span = fields(text, 'from to');

const trends = tool({
  title: 'How checkouts ended',
  description:
    'How many customers paid over whole days beside the time before, where the others were lost by the state in which they waited last, how long they waited by day where most waited last, money by currency, attempts by receiver. Say no more of a difference than `change` does.',
  input: z.strictObject({
    range: z.enum(TREND_RANGES).optional().describe('7d when left out. Today is left out; of 24h, the present hour.'),
    site,
    zone: text.optional().describe('IANA name of the zone in which days begin, such as Europe/Stockholm; UTC when left out.'),
  }),
  output: z.object({
    ...fields(text, 'at range zone sentence'),
    site: textOrNull,
    ...span,
    against: z.object(span),
    total: z.object(compared),
    ways: listOf({ state, ...compared }),
    waiting: z
      .object({
        site: text,
        state,
        limitMs: count,
        pieces: listOf({ ...span, customers: count, ...fields(count.nullable(), 'medianMs p95Ms') }),
      })
      .nullable(),
    money: listOf({ currency: text, customers: count, ...fields(amount, 'paid notPaid open') }),
    receivers: listOf({ subscriber: text, ...fields(count, 'attempts failed') }),
  }),
  ask: (query) => ({ method: 'GET', path: '/v1/trends', query }),
});

const alerts = {
  messages: count,
  perDay: z.number().nullable(),
  stages: z.record(text, count),
  overdue: count.describe('Purchases found stuck.'),
};
const side = z
  .object({
    ...alerts,
    incidents: count,
    unsaid: count.describe('Incidents over before anybody was alerted.'),
    timeline: listOf({
      ...fields(text, 'kind severity openedAt'),
      ...fields(textOrNull, 'site endedAt alertedAt'),
      state,
      peak: count,
    }),
  })
  .meta({ id: 'Alerts' });

const rehearse = tool({
  title: 'Rehearse other settings',
  description:
    'Goes through a past time again (31 days at most) and answers which alerts people would have got under other settings, beside the present ones and what was really sent. Nothing is changed or sent.',
  input: z.strictObject({
    from: text.describe('A duration back such as 7d, or a time with its zone.'),
    to: text.optional().describe('The same; now when left out.'),
    site,
    ignoreSilences: z.boolean().optional(),
    settings: z
      .record(text, z.unknown())
      .optional()
      .describe(
        'What differs, as {"states": {"WaitingForCardPayments": {"stuckAfter": "5m"}}, "slack": {"quietFor": "5m"}}; nothing when left out.',
      ),
  }),
  output: z.object({
    ...span,
    site: textOrNull,
    stays: count,
    summary: text,
    changed: listOf(fields(text, 'setting present tried')),
    rehearsed: side,
    present: side.nullable(),
    compared: z.object({ ...fields(count, 'both onlyTried onlyPresent'), earlierMs: z.number().nullable() }).nullable(),
    really: z.object(alerts),
    limits: listOf({ ...fields(text, 'site text'), state }),
  }),
  ask: (given) => ({ method: 'POST', path: '/v1/rehearsals', body: JSON.stringify(given) }),
});

/** The tools by name. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(Object.entries({ status, incidents, incident, why, trends, rehearse }));
