/** Silences: times in which people want to hear nothing of some incidents. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { suggestion } from '../config/nearest.ts';
import { isoTime } from '../core/events.ts';
import type { JsonValue } from '../core/exact-json.ts';
import type { Instant, Milliseconds } from '../core/purchase.ts';
import type { Secrets } from '../runtime/secrets.ts';
import type { Sql } from '../store/database.ts';
import { databaseNow } from '../store/overview.ts';
import { addSilence, endSilence, findSilence, listSilences } from '../store/silences.ts';
import { listSubscribers } from '../store/subscribers.ts';
import { exactJson, isJsonObject } from './body.ts';
import { cursorOf, cursorParameter, limitParameter, siteParameter } from './fields.ts';
import { unknownSite } from './find-purchase.ts';
import { IDEMPOTENCY_PROBLEMS, idempotencyHeader, idempotent } from './idempotency.ts';
import {
  byField,
  comingField,
  kindParameter,
  silenceBody,
  silenceIdField,
  silenceSchema,
  stateField,
  wordParameter,
  wordsField,
} from './incident-fields.ts';
import { type IssueNote, strict } from './invalid.ts';
import { Problem, problems } from './problems.ts';
import type { ApiBindings } from './serve.ts';

const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 500;
const BODY_LIMIT = 16 * 1024;
/** A silence that nobody remembers must not hide what breaks later. */
const LONGEST: Milliseconds = 30 * 24 * 3_600_000;

/** Mounts list, read, add and end. */
export function mountSilences(
  app: OpenAPIHono<{ Bindings: ApiBindings }>,
  { sql, secrets }: { sql: Sql; secrets: Secrets | null },
): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit = DEFAULT_LIMIT, status = 'current' } = c.req.valid('query');
    const now = await databaseNow(sql);
    const rows = await listSilences(sql, { status, before: cursor ?? null, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? cursorOf(page.at(-1)!.id) : null;
    return c.json({ data: page.map((row) => silenceBody(row, now)), nextCursor }, 200);
  });

  app.openapi(addRoute({ sql, secrets }), async (c) => {
    const { site = null, state = null, subscriber = null, reason, by, ...wish } = c.req.valid('json');
    const { kind = subscriber === null ? null : 'subscriber', ...times } = wish;
    const now = await databaseNow(sql);
    const endsAt = times.endsAt(now);
    // The clock went on since they were checked.
    const startsAt = Math.min(times.startsAt?.(now) ?? now, endsAt);
    const row = await addSilence(sql, { site, state, kind, subscriber, reason, by, startsAt, endsAt });
    c.header('location', `/v1/silences/sil_${row.id}`);
    return c.json(silenceBody(row, await databaseNow(sql)), 201);
  });

  app.openapi(readRoute, async (c) => {
    const { id } = c.req.valid('param');
    const row = await findSilence(sql, id);
    if (row === null) throw notFound(id);
    return c.json(silenceBody(row, await databaseNow(sql)), 200);
  });

  app.openapi(endRoute, async (c) => {
    const { id } = c.req.valid('param');
    if (!(await endSilence(sql, id))) throw notFound(id);
    return c.body(null, 204);
  });
}

function notFound(id: number): Problem {
  return new Problem('silence_not_found', `There is no silence sil_${id}; GET /v1/silences lists them.`);
}

interface Wish {
  readonly site?: string | undefined;
  readonly state?: unknown;
  readonly kind?: unknown;
  readonly subscriber?: string | undefined;
  readonly everything?: boolean | undefined;
  readonly startsAt?: Moment | undefined;
  readonly endsAt: Moment;
}
type Moment = (now: Instant) => Instant;

/**
 * Adds what only the database can tell, and what the fields say together, to what is wrong with single fields, so that
 * the caller is told of everything at once.
 */
async function checkSense(sql: Sql, wish: Wish, ctx: z.core.$RefinementCtx<Wish>): Promise<void> {
  const isWrong = (field: keyof Wish): boolean => ctx.issues.some(({ path }) => path?.[0] === field);
  const isGiven = (field: keyof Wish): boolean => wish[field] !== undefined || isWrong(field);
  const refuse = (field: keyof Wish, message: string, note: IssueNote = {}): void => {
    if (!isWrong(field)) ctx.addIssue({ code: 'custom', path: [field], message, params: { ...note } });
  };
  const isNarrow = isGiven('site') || isGiven('state') || isGiven('kind') || isGiven('subscriber');
  if (!isNarrow && wish.everything !== true)
    refuse('everything', 'must be true to silence all incidents; or name a site, state, kind or subscriber');
  if (isNarrow && wish.everything === true)
    refuse('everything', 'cannot go with site, state, kind or subscriber; leave it or those out');
  if (wish.kind === 'unreachable' && isGiven('state'))
    refuse('state', 'cannot go with kind unreachable, which is about whole sites');
  const isOfSubscribers = wish.kind === 'subscriber' || isGiven('subscriber');
  for (const field of ['site', 'state'] as const)
    if (isOfSubscribers && isGiven(field)) refuse(field, 'cannot go with incidents of subscribers, which are of no site');
  if (isGiven('subscriber') && isGiven('kind') && wish.kind !== 'subscriber')
    refuse('kind', 'must be subscriber, or left out, when a subscriber is named');
  if (wish.subscriber !== undefined && !isWrong('subscriber')) {
    const names = (await listSubscribers(sql)).map(({ name }) => name);
    const hint = suggestion(wish.subscriber, names);
    if (!names.includes(wish.subscriber)) refuse('subscriber', `is no subscriber${hint}; GET /v1/subscribers lists them`);
  }
  if (wish.site !== undefined && !isWrong('site')) {
    const detail = await unknownSite(sql, wish.site);
    if (detail !== null) refuse('site', detail, { code: 'unknown_site' });
  }
  if (isWrong('endsAt')) return;
  const now = await databaseNow(sql);
  const endsAt = wish.endsAt(now);
  if (endsAt <= now) refuse('endsAt', `must be in the future; it is ${isoTime(now)} now`);
  else if (endsAt > now + LONGEST) refuse('endsAt', `must be at most 30 days ahead, so by ${isoTime(now + LONGEST)}`);
  else if (!isWrong('startsAt') && (wish.startsAt?.(now) ?? now) >= endsAt) refuse('startsAt', 'must be before endsAt');
}

const READ_PROBLEMS = ['invalid_request', 'unauthorized', 'unavailable'] as const;
const CHANGE_PROBLEMS = [...READ_PROBLEMS, 'read_only_key', 'cross_site'] as const;
const oneSilence = { params: z.object({ id: silenceIdField }) };
const answer = (description: string) => ({ description, content: { 'application/json': { schema: silenceSchema } } });

const listRoute = createRoute({
  method: 'get',
  path: '/v1/silences',
  summary: 'List silences',
  description: 'Newest first: those that hold or will (`current`), unless `status` asks for others.',
  tags: ['Incidents'],
  request: {
    query: strict({
      status: wordParameter(['current', 'over', 'all'], 'status').optional(),
      cursor: cursorParameter.optional(),
      limit: limitParameter(MOST_LIMIT).optional(),
    }),
  },
  responses: {
    200: {
      description: 'A page; `nextCursor` is null on the last one.',
      content: { 'application/json': { schema: z.object({ data: z.array(silenceSchema), nextCursor: z.string().nullable() }) } },
    },
    ...problems(...READ_PROBLEMS),
  },
});

const addRoute = (means: { sql: Sql; secrets: Secrets | null }) =>
  createRoute({
    method: 'post',
    path: '/v1/silences',
    summary: 'Silence incidents for a time',
    description:
      'While it holds, people are told of no incident that matches, but for the end of one they have heard of. What is still wrong when it ends is told then. Webhooks and the feed are not silenced.',
    tags: ['Incidents'],
    middleware: [exactJson(BODY_LIMIT), idempotent(means)] as const,
    request: {
      headers: idempotencyHeader,
      body: {
        required: true,
        content: {
          'application/json': {
            schema: strict({
              site: siteParameter.optional(),
              state: stateField.optional(),
              kind: kindParameter.optional(),
              subscriber: wordsField(200, 'the name of a subscriber').optional().openapi({
                description: 'Only incidents about this subscriber.',
              }),
              everything: z
                .boolean({ error: 'must be true or false' })
                .optional()
                .openapi({ description: 'Needed to silence all incidents: without site, state, kind and subscriber.' }),
              reason: wordsField(500, 'why').openapi({ example: 'The service is being moved tonight.' }),
              by: byField,
              startsAt: comingField.optional().openapi({
                example: '10m',
                description: 'A time with its zone, or a duration from now; now, when it is left out.',
              }),
              endsAt: comingField.openapi({
                description: 'A time with its zone, or a duration from now; at most 30 days ahead.',
              }),
            })
              .superRefine((wish, ctx) => checkSense(means.sql, wish, ctx), {
                when: ({ value }) => isJsonObject(value as JsonValue),
              })
              .openapi('NewSilence'),
          },
        },
      },
    },
    responses: {
      201: answer('It holds, or will.'),
      ...problems(
        ...CHANGE_PROBLEMS,
        'unknown_site',
        'not_json',
        'too_deep',
        'too_large',
        'unsupported_media_type',
        ...IDEMPOTENCY_PROBLEMS,
      ),
    },
  });

const readRoute = createRoute({
  method: 'get',
  path: '/v1/silences/{id}',
  summary: 'Read a silence',
  tags: ['Incidents'],
  request: oneSilence,
  responses: { 200: answer('The silence.'), ...problems(...READ_PROBLEMS, 'silence_not_found') },
});

const endRoute = createRoute({
  method: 'delete',
  path: '/v1/silences/{id}',
  summary: 'End a silence',
  description: 'At once; it stays in the list of those that are over. May be repeated.',
  tags: ['Incidents'],
  request: oneSilence,
  responses: { 204: { description: 'It is over.' }, ...problems(...CHANGE_PROBLEMS, 'silence_not_found') },
});
