/** Incidents: reading them, looking after one, and answering what it was. */

import { incidentBody, incidentDetails, listedIncidentBody } from '../../actions/incidents/body.ts';
import { acknowledge, answer as answerTo, listIncidents, release, storyOf } from '../../actions/incidents/incidents.ts';
import { withMoney } from '../../actions/incidents/money.ts';
import { siteParameter, wordParameter } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
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

export function mountIncidents(app: Api, { sql, changes, settings }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit, status = 'all', money, ...others } = c.req.valid('query');
    const filter = { status, ...others };
    if (filter.site !== undefined) await requireSite(sql, filter.site);
    const { page, nextCursor } = await readPage({ cursor, limit }, (place) => listIncidents(sql, { filter, ...place }));
    const listed = money === 'false' ? page.map((row) => ({ ...row, money: null })) : await withMoney(sql, page);
    return c.json({ data: listed.map(listedIncidentBody), nextCursor }, 200);
  });

  app.openapi(readRoute, async (c) => c.json(incidentDetails(await storyOf(sql, c.req.valid('param').id), settings.slack), 200));

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

const oneIncident = { params: { id: incidentIdField }, problems: ['incident_not_found'] } as const;
const answer = (description: string) => jsonAnswer(description, incidentSchema);

const listRoute = route('GET /v1/incidents', {
  summary: 'List incidents',
  description: 'The latest opened first, with the money that waits in those that are open. All filters given must hold.',
  query: {
    status: wordParameter(['open', 'ended', 'all'], 'status').optional(),
    site: siteParameter.optional(),
    kind: kindParameter.optional(),
    money: wordParameter(['true', 'false'], 'money')
      .optional()
      .describe('`false` leaves out the money that waits, which takes the most time to read.'),
    ...pageParameters,
  },
  answers: { 200: pageAnswer(listedIncidentSchema) },
  problems: ['unknown_site'],
});

const readRoute = route('GET /v1/incidents/{id}', {
  summary: 'Read an incident',
  description: 'With what people were alerted of.',
  ...oneIncident,
  answers: { 200: jsonAnswer('The incident as it is now.', incidentDetailsSchema) },
});

const acknowledgeRoute = route('POST /v1/incidents/{id}/acknowledge', {
  summary: 'Say that you look after an incident',
  description:
    'No more reminders are sent; people are still alerted when the incident grows and when it is over. Its parts without an owner get the same owner. The last person who says so is the owner.',
  ...oneIncident,
  body: strict({
    by: byField,
    note: noteField.optional().openapi({ example: 'The deploy is rolled back.' }),
  }).openapi('Acknowledgement'),
  answers: { 200: answer('The incident, with who looks after it.') },
  problems: ['incident_not_found', 'incident_ended'],
});

const releaseRoute = route('DELETE /v1/incidents/{id}/acknowledge', {
  summary: 'Say that you look after an incident no longer',
  description: 'People are reminded of it again. May be repeated.',
  ...oneIncident,
  answers: { 200: answer('The incident, without an owner.') },
  problems: ['incident_not_found', 'incident_ended'],
});

const answerRoute = route('POST /v1/incidents/{id}/answer', {
  summary: 'Say what an incident was',
  description:
    'While the incident is open or afterwards; the answer does not end the incident. It is cited when customers get stuck there again. A second answer replaces the first.',
  ...oneIncident,
  body: strict({
    cause: causeField,
    by: byField,
    note: noteField.optional().openapi({ example: 'The new policy blocked the form of the bank.' }),
  }).openapi('IncidentAnswer'),
  answers: { 200: answer('The incident, with the answer.') },
});
