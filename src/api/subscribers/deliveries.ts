/** Deliveries: reading them and having one sent again. */

import { z } from '@hono/zod-openapi';
import type { Sql } from '../../actions/database.ts';
import { bodyOfDelivery, findDelivery, listDeliveries } from '../../actions/deliveries/deliveries.ts';
import { deliveryBody, deliveryDetails } from '../../actions/subscribers/body.ts';
import { deliveryName } from '../../actions/subscribers/names.ts';
import { sendAgain } from '../../actions/subscribers/replay.ts';
import { notText, purchaseIdField, siteParameter, subscriberParameter } from '../http/fields.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { fieldProblem, Problem } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { deliveryDetailsSchema, deliveryIdField, deliverySchema, deliveryStatusParameter } from './fields.ts';

export function mountDeliveries(app: Api, { sql, changes }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const { cursor, limit, ...filter } = c.req.valid('query');
    if (filter.site !== undefined && filter.purchase === undefined) {
      const detail = 'says which purchase is meant, so it needs purchase; leave it out, or name both';
      throw fieldProblem('site', detail, { value: filter.site });
    }
    const { page, nextCursor } = await readPage({ cursor, limit }, (place) => listDeliveries(sql, { filter, ...place }));
    return c.json({ data: page.map(deliveryBody), nextCursor }, 200);
  });

  app.openapi(readRoute, async (c) => c.json(await read(sql, c.req.valid('param').id), 200));

  app.openapi(eventRoute, async (c) => {
    const { id } = c.req.valid('param');
    const body = await bodyOfDelivery(sql, id);
    if (body === null) throw notFound(id);
    // The stored bytes: read and written again, a number or a name might come out in another spelling.
    return c.body(body, 200, { 'content-type': 'application/json' }) as never;
  });

  app.openapi(retryRoute, async (c) => {
    const { delivery, waits } = await sendAgain(changes, c.req.valid('param').id);
    return c.json({ ...deliveryDetails(delivery), ...(waits === null ? {} : { note: waits }) }, 202);
  });
}

async function read(sql: Sql, id: number) {
  const delivery = await findDelivery(sql, id);
  if (delivery === null) throw notFound(id);
  return deliveryDetails(delivery);
}

function notFound(id: number): Problem {
  return new Problem('delivery_not_found', `There is no delivery ${deliveryName(id)}.`);
}

const oneDelivery = { params: { id: deliveryIdField }, problems: ['delivery_not_found'] } as const;
const answer = (description: string) => jsonAnswer(description, deliveryDetailsSchema);

const listRoute = route('GET /v1/deliveries', {
  summary: 'List deliveries',
  description:
    'Newest first: one event for one subscriber each, and each in exactly one status. All filters given must hold; each reads a page, whatever waits.',
  query: {
    status: deliveryStatusParameter.optional(),
    subscriber: subscriberParameter.optional(),
    purchase: purchaseIdField.optional(),
    site: siteParameter.optional().describe('The site of that purchase, when several have its id.'),
    event: z
      .string({ error: notText })
      .regex(/^evt_[0-9A-Za-z]{1,60}$/, 'must be the id of an event, evt_ and letters and digits')
      .optional()
      .openapi({ description: "An event's id.", example: 'evt_01JD0M9Q2V6QW3E7T8Y9Z0A1B2' }),
    ...pageParameters,
  },
  answers: { 200: pageAnswer(deliverySchema) },
});

const readRoute = route('GET /v1/deliveries/{id}', {
  summary: 'Read a delivery',
  description:
    'With every attempt that was made, first to last. Those that failed are kept for `store.retention.attempts`, the one that delivered as long as the delivery.',
  ...oneDelivery,
  answers: { 200: answer('The delivery as it is now.') },
});

/** The event of a channel for people; alerts.schema.json has all of it. */
const ALERT = {
  type: 'object',
  description: 'An alert, for a channel for people: docs/alerts.schema.json describes its `data`.',
  required: ['id', 'type', 'timestamp', 'data'],
  properties: {
    id: { type: 'string' },
    type: { type: 'string', pattern: '^incident\\.' },
    timestamp: { type: 'string', format: 'date-time' },
    data: { type: 'object' },
  },
};

const eventRoute = route('GET /v1/deliveries/{id}/event', {
  summary: 'Read the event of a delivery',
  description:
    'The event that the delivery brings, byte for byte as it is stored. A subscriber whose `format` is `cloudevents` gets it as a CloudEvent.',
  ...oneDelivery,
  answers: {
    200: jsonAnswer('The event.', z.unknown().openapi({ anyOf: [{ $ref: '#/components/schemas/Event' }, ALERT] } as object)),
  },
});

const retryRoute = route('POST /v1/deliveries/{id}/retry', {
  summary: 'Send a delivery again',
  description:
    'Whatever became of it, with the same id and bytes; if that fails, its schedule begins again. It leaves at once, unless `note` in the answer says why not.',
  ...oneDelivery,
  answers: {
    202: jsonAnswer(
      'It is due now.',
      deliveryDetailsSchema.extend({
        note: z
          .string()
          .optional()
          .describe(
            'Why it does not leave at once: its subscriber is paused or off, or an earlier event of its purchase goes first.',
          ),
      }),
    ),
  },
  problems: ['delivery_not_found', 'subscriber_not_found'],
});
