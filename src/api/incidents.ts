/** Incidents: reading them, and saying that somebody looks after one. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Sql } from '../store/database.ts';
import { acknowledgeIncident, findIncident, type IncidentRow, listIncidents } from '../store/incident-list.ts';
import { exactJson } from './body.ts';
import { cursorOf, cursorParameter, limitParameter, siteParameter } from './fields.ts';
import { requireSite } from './find-purchase.ts';
import {
  byField,
  incidentBody,
  incidentIdField,
  incidentSchema,
  kindParameter,
  wordParameter,
  wordsField,
} from './incident-fields.ts';
import { strict } from './invalid.ts';
import { Problem, problems } from './problems.ts';
import type { ApiBindings } from './serve.ts';

const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 500;
const BODY_LIMIT = 16 * 1024;

/** Mounts list, read and acknowledge. */
export function mountIncidents(app: OpenAPIHono<{ Bindings: ApiBindings }>, { sql }: { sql: Sql }): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit = DEFAULT_LIMIT, status = 'all', ...filter } = c.req.valid('query');
    if (filter.site !== undefined) await requireSite(sql, filter.site);
    const rows = await listIncidents(sql, { filter: { status, ...filter }, before: cursor ?? null, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const nextCursor = rows.length > limit ? cursorOf(page.at(-1)!.position) : null;
    return c.json({ data: page.map(incidentBody), nextCursor }, 200);
  });

  app.openapi(readRoute, async (c) => c.json(incidentBody(await requireIncident(sql, c.req.valid('param').id)), 200));

  app.openapi(acknowledgeRoute, async (c) => {
    const { id } = c.req.valid('param');
    const { by, note = null } = c.req.valid('json');
    const isOpen = await acknowledgeIncident(sql, { id, by, note });
    const incident = await requireIncident(sql, id);
    if (!isOpen) throw new Problem('incident_ended', `The incident ${id} is over; there is nothing to look after any more.`);
    return c.json(incidentBody(incident), 200);
  });
}

async function requireIncident(sql: Sql, id: string): Promise<IncidentRow> {
  const incident = await findIncident(sql, id);
  if (incident === null) throw new Problem('incident_not_found', `There is no incident ${id}; GET /v1/incidents lists them.`);
  return incident;
}

const READ_PROBLEMS = ['invalid_request', 'unauthorized', 'unavailable'] as const;
const oneIncident = { params: z.object({ id: incidentIdField }) };
const answer = (description: string) => ({ description, content: { 'application/json': { schema: incidentSchema } } });

const listRoute = createRoute({
  method: 'get',
  path: '/v1/incidents',
  summary: 'List incidents',
  description: 'The latest opened first. All filters given must hold.',
  tags: ['Incidents'],
  request: {
    query: strict({
      status: wordParameter(['open', 'ended', 'all'], 'status').optional(),
      site: siteParameter.optional(),
      kind: kindParameter.optional(),
      cursor: cursorParameter.optional(),
      limit: limitParameter(MOST_LIMIT).optional(),
    }),
  },
  responses: {
    200: {
      description: 'A page; `nextCursor` is null on the last one.',
      content: { 'application/json': { schema: z.object({ data: z.array(incidentSchema), nextCursor: z.string().nullable() }) } },
    },
    ...problems(...READ_PROBLEMS, 'unknown_site'),
  },
});

const readRoute = createRoute({
  method: 'get',
  path: '/v1/incidents/{id}',
  summary: 'Read an incident',
  tags: ['Incidents'],
  request: oneIncident,
  responses: { 200: answer('The incident as it is now.'), ...problems(...READ_PROBLEMS, 'incident_not_found') },
});

const acknowledgeRoute = createRoute({
  method: 'post',
  path: '/v1/incidents/{id}/acknowledge',
  summary: 'Say that you look after an incident',
  description:
    'Nobody is reminded of it any more; that it doubles, and that it is over, is still told. Said again, it counts for whoever said it last.',
  tags: ['Incidents'],
  middleware: [exactJson(BODY_LIMIT)] as const,
  request: {
    ...oneIncident,
    body: {
      required: true,
      content: {
        'application/json': {
          schema: strict({
            by: byField,
            note: wordsField(1_000, 'some words, or leave the field out')
              .optional()
              .openapi({ example: 'The deploy is rolled back.' }),
          }).openapi('Acknowledgement'),
        },
      },
    },
  },
  responses: {
    200: answer('The incident, with who looks after it.'),
    ...problems(
      ...READ_PROBLEMS,
      'read_only_key',
      'cross_site',
      'not_json',
      'too_deep',
      'too_large',
      'unsupported_media_type',
      'incident_not_found',
      'incident_ended',
    ),
  },
});
