/** Incidents: reading them, looking after one, and answering what it was. */

import { createRoute, z } from '@hono/zod-openapi';
import { incidentBody, incidentDetails, listedIncidentBody } from '../../actions/incidents/body.ts';
import { acknowledge, answer as answerTo, release, storyOf } from '../../actions/incidents/incidents.ts';
import { withMoney } from '../../actions/incidents/money.ts';
import type { AlertPolicy } from '../../domain/incidents/incident.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { listIncidents } from '../../postgres/incidents/list.ts';
import { needs } from '../access/scopes.ts';
import { exactJson } from '../http/body.ts';
import { type Api, BODY_PROBLEMS, jsonAnswer, jsonBody } from '../http/definitions.ts';
import { siteParameter, wordParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { CHANGE_PROBLEMS, problems, READ_PROBLEMS } from '../http/problems.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import {
  byField,
  causeField,
  incidentDetailsSchema,
  incidentIdField,
  incidentSchema,
  kindParameter,
  listedIncidentSchema,
  noteField,
} from './fields.ts';

const BODY_LIMIT = 16 * 1024;

export interface IncidentsParts {
  readonly sql: Sql;
  readonly changes: Sql;
  /** When people are reminded. */
  readonly alerts: Pick<AlertPolicy, 'repeatInterval'>;
}

/** Mounts list, read, acknowledge with its opposite, and answer. */
export function mountIncidents(app: Api, { sql, changes, alerts }: IncidentsParts): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit, status = 'all', money, ...others } = c.req.valid('query');
    const filter = { status, ...others };
    if (filter.site !== undefined) await requireSite(sql, filter.site);
    const read = (place: { before: number | null; limit: number }) => listIncidents(sql, { filter, ...place });
    const { page, nextCursor } = await readPage({ cursor, limit }, read, (row) => row.position);
    const listed = money === 'false' ? page.map((row) => ({ ...row, money: null })) : await withMoney(sql, page);
    return c.json({ data: listed.map(listedIncidentBody), nextCursor }, 200);
  });

  app.openapi(readRoute, async (c) => c.json(incidentDetails(await storyOf(sql, c.req.valid('param').id), alerts), 200));

  app.openapi(acknowledgeRoute, async (c) => {
    const { by, note = null } = c.req.valid('json');
    return c.json(incidentBody(await acknowledge(changes, c.req.valid('param').id, { by, note })), 200);
  });

  app.openapi(releaseRoute, async (c) => c.json(incidentBody(await release(changes, c.req.valid('param').id)), 200));

  app.openapi(answerRoute, async (c) => {
    const { cause, by, note = null } = c.req.valid('json');
    return c.json(incidentBody(await answerTo(changes, c.req.valid('param').id, { cause, by, note })), 200);
  });
}

const oneIncident = { params: z.object({ id: incidentIdField }) };
const answer = (description: string) => jsonAnswer(description, incidentSchema);

const listRoute = createRoute({
  method: 'get',
  path: '/v1/incidents',
  security: needs('read'),
  summary: 'List incidents',
  description: 'The latest opened first, with the money that waits in those that are open. All filters given must hold.',
  tags: ['Incidents'],
  request: {
    query: strict({
      status: wordParameter(['open', 'ended', 'all'], 'status').optional(),
      site: siteParameter.optional(),
      kind: kindParameter.optional(),
      money: wordParameter(['true', 'false'], 'money').optional().openapi({
        description: '`false` leaves out the money that waits, which takes the most time to read.',
      }),
      ...pageParameters,
    }),
  },
  responses: {
    200: pageAnswer(listedIncidentSchema),
    ...problems(...READ_PROBLEMS, 'unknown_site'),
  },
});

const readRoute = createRoute({
  method: 'get',
  path: '/v1/incidents/{id}',
  security: needs('read'),
  summary: 'Read an incident',
  description: 'With what people were alerted of.',
  tags: ['Incidents'],
  request: oneIncident,
  responses: {
    200: jsonAnswer('The incident as it is now.', incidentDetailsSchema),
    ...problems(...READ_PROBLEMS, 'incident_not_found'),
  },
});

const acknowledgeRoute = createRoute({
  method: 'post',
  path: '/v1/incidents/{id}/acknowledge',
  security: needs('operate'),
  summary: 'Say that you look after an incident',
  description:
    'No more reminders are sent; people are still alerted when the incident grows and when it is over. Its parts without an owner get the same owner. The last person who says so is the owner.',
  tags: ['Incidents'],
  middleware: [exactJson(BODY_LIMIT)] as const,
  request: {
    ...oneIncident,
    body: jsonBody(
      strict({
        by: byField,
        note: noteField.optional().openapi({ example: 'The deploy is rolled back.' }),
      }).openapi('Acknowledgement'),
    ),
  },
  responses: {
    200: answer('The incident, with who looks after it.'),
    ...problems(...CHANGE_PROBLEMS, 'incident_not_found', ...BODY_PROBLEMS, 'incident_ended'),
  },
});

const releaseRoute = createRoute({
  method: 'delete',
  path: '/v1/incidents/{id}/acknowledge',
  security: needs('operate'),
  summary: 'Say that you look after an incident no longer',
  description: 'People are reminded of it again. May be repeated.',
  tags: ['Incidents'],
  request: oneIncident,
  responses: {
    200: answer('The incident, without an owner.'),
    ...problems(...CHANGE_PROBLEMS, 'incident_not_found', 'incident_ended'),
  },
});

const answerRoute = createRoute({
  method: 'post',
  path: '/v1/incidents/{id}/answer',
  security: needs('operate'),
  summary: 'Say what an incident was',
  description:
    'While the incident is open or afterwards; the answer does not end the incident. It is cited when customers get stuck there again. A second answer replaces the first.',
  tags: ['Incidents'],
  middleware: [exactJson(BODY_LIMIT)] as const,
  request: {
    ...oneIncident,
    body: jsonBody(
      strict({
        cause: causeField,
        by: byField,
        note: noteField.optional().openapi({ example: 'The new policy blocked the form of the bank.' }),
      }).openapi('IncidentAnswer'),
    ),
  },
  responses: {
    200: answer('The incident, with the answer.'),
    ...problems(...CHANGE_PROBLEMS, 'incident_not_found', ...BODY_PROBLEMS),
  },
});
