/** Subscribers: listing, adding, changing and removing them. */

import { createRoute, z } from '@hono/zod-openapi';
import { type Addresses, subscriberBody } from '../../actions/subscribers/body.ts';
import { addSubscriber, changeSubscriber, removeSubscriber, requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { subscriberPage } from '../../postgres/subscribers/subscribers.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import { needs } from '../access/scopes.ts';
import { exactJson } from '../http/body.ts';
import { type Api, BODY_PROBLEMS, jsonAnswer, jsonBody } from '../http/definitions.ts';
import { IDEMPOTENCY_PROBLEMS, idempotencyHeader, idempotent } from '../http/idempotency.ts';
import { strict } from '../http/invalid.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { CHANGE_PROBLEMS, problems, READ_PROBLEMS } from '../http/problems.ts';
import {
  type CheckedAgainst,
  extraFields,
  nameField,
  secretField,
  subscriberName,
  subscriberSchema,
  urlField,
  wishFields,
} from './fields.ts';

export interface SubscriberParts {
  readonly sql: Sql;
  readonly changes: Sql;
  readonly secrets: Secrets | null;
  readonly known: CheckedAgainst;
  /** Those that the settings name. */
  readonly configured: Addresses['configured'];
}

const BODY_LIMIT = 64 * 1024;

/** Mounts all calls but those that have something sent. */
export function mountSubscribers(app: Api, parts: SubscriberParts): void {
  const { sql, changes, secrets, known, configured } = parts;
  const means = { sql: changes, secrets };
  const shown = { secrets, configured };

  app.openapi(listRoute, async (c) => {
    const read = ({ before: after, limit }: { before: number | null; limit: number }) => subscriberPage(sql, { after, limit });
    const { page, nextCursor } = await readPage(c.req.valid('query'), read, (row) => row.id);
    return c.json({ data: page.map((row) => subscriberBody(row, shown)), nextCursor }, 200);
  });

  app.openapi(addRoute(means, known), async (c) => {
    const { types = null, sites = null, states = null, description = null, ...rest } = c.req.valid('json');
    const wishes = { types: distinct(types), sites: distinct(sites), states: distinct(states), description };
    const { row, secret } = await addSubscriber(means, { ...rest, ...wishes });
    c.header('location', `/v1/subscribers/${row.name}`);
    return c.json({ ...subscriberBody(row, shown), secret }, 201);
  });

  app.openapi(readRoute, async (c) => {
    const row = await requireSubscriber(sql, c.req.valid('param').id);
    return c.json(subscriberBody(row, shown), 200);
  });

  app.openapi(changeRoute(known), async (c) => {
    const { types, sites, states, ...rest } = c.req.valid('json');
    const wishes = { types: distinct(types), sites: distinct(sites), states: distinct(states) };
    const row = await changeSubscriber(means, c.req.valid('param').id, { ...rest, ...wishes });
    return c.json(subscriberBody(row, shown), 200);
  });

  app.openapi(removeRoute, async (c) => {
    await removeSubscriber(changes, c.req.valid('param').id);
    return c.body(null, 204);
  });
}

/** Each once; what is not a list stays what it is. */
function distinct<List extends readonly unknown[] | null | undefined>(list: List): List {
  return (Array.isArray(list) ? [...new Set(list)] : list) as List;
}

const FIELD_PROBLEMS = ['unknown_site', ...BODY_PROBLEMS] as const;
const oneSubscriber = { params: z.object({ id: subscriberName }) };
const answer = (description: string) => jsonAnswer(description, subscriberSchema);

const listRoute = createRoute({
  method: 'get',
  path: '/v1/subscribers',
  security: needs('read'),
  summary: 'List subscribers',
  description: 'Those of the configuration and those made here, the oldest first.',
  tags: ['Subscribers'],
  request: {
    query: strict(pageParameters),
  },
  responses: {
    200: pageAnswer(subscriberSchema),
    ...problems(...READ_PROBLEMS),
  },
});

const addedSchema = subscriberSchema.extend({ secret: z.string() }).openapi('AddedSubscriber');

export type AddedSubscriberBody = z.output<typeof addedSchema>;

const addRoute = (means: { sql: Sql; secrets: Secrets | null }, known: CheckedAgainst) =>
  createRoute({
    method: 'post',
    path: '/v1/subscribers',
    security: needs('operate'),
    summary: 'Add a subscriber',
    description:
      'It gets what happens from now on; what happened before can be sent with `replay`. The answer shows the secret that signs, and nothing shows it again.',
    tags: ['Subscribers'],
    middleware: [exactJson(BODY_LIMIT), idempotent(means)] as const,
    request: {
      headers: idempotencyHeader,
      body: jsonBody(
        strict({
          name: nameField,
          url: urlField(known),
          secret: secretField.optional(),
          ...extraFields,
          ...wishFields(known),
        }).openapi('NewSubscriber'),
      ),
    },
    responses: {
      201: jsonAnswer('It was added. Keep the secret.', addedSchema),
      ...problems(
        ...FIELD_PROBLEMS,
        ...CHANGE_PROBLEMS,
        'subscriber_exists',
        'secrets_key_missing',
        'secrets_key_wrong',
        ...IDEMPOTENCY_PROBLEMS,
      ),
    },
  });

const readRoute = createRoute({
  method: 'get',
  path: '/v1/subscribers/{id}',
  security: needs('read'),
  summary: 'Read a subscriber',
  description: 'As the list has it. Secrets and private keys are never shown.',
  tags: ['Subscribers'],
  request: oneSubscriber,
  responses: {
    200: answer('The subscriber, without its secret.'),
    ...problems(...READ_PROBLEMS, 'subscriber_not_found'),
  },
});

const changeRoute = (known: CheckedAgainst) =>
  createRoute({
    method: 'patch',
    path: '/v1/subscribers/{id}',
    security: needs('operate'),
    summary: 'Change a subscriber',
    description:
      'What is absent stays. With `status` a subscriber is switched off, or on again: then it is sent what waits. A `url` of another origin (scheme, host, port) needs `headers` beside it where the subscriber has some: stored values are not sent there (`headers_not_given`). Of those that the configuration names only `status` is changed here.',
    tags: ['Subscribers'],
    middleware: exactJson(BODY_LIMIT),
    request: {
      ...oneSubscriber,
      body: jsonBody(
        strict({
          url: urlField(known).optional(),
          ...extraFields,
          ...wishFields(known),
          status: z.enum(['active', 'off'], { error: 'must be active or off' }).optional(),
        }).openapi('SubscriberChanges'),
      ),
    },
    responses: {
      200: answer('The subscriber as it is now.'),
      ...problems(
        ...FIELD_PROBLEMS,
        ...CHANGE_PROBLEMS,
        'subscriber_not_found',
        'subscriber_configured',
        'secrets_key_missing',
        'secrets_key_wrong',
        'headers_not_given',
      ),
    },
  });

const removeRoute = createRoute({
  method: 'delete',
  path: '/v1/subscribers/{id}',
  security: needs('operate'),
  summary: 'Remove a subscriber',
  description: 'What waits for it is suppressed. Its deliveries stay to be read, and its name may be used again.',
  tags: ['Subscribers'],
  request: oneSubscriber,
  responses: {
    204: { description: 'It gets nothing any more.' },
    ...problems(...CHANGE_PROBLEMS, 'subscriber_not_found', 'subscriber_configured'),
  },
});
