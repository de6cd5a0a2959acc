/** Subscribers: listing, adding, changing and removing them. */

import { z } from '@hono/zod-openapi';
import { subscriberBody } from '../../actions/subscribers/body.ts';
import {
  addSubscriber,
  changeSubscriber,
  removeSubscriber,
  requireSubscriber,
  subscriberPage,
} from '../../actions/subscribers/subscribers.ts';
import { strict } from '../http/invalid.ts';
import { type PagePlace, pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import {
  type CheckedAgainst,
  extraFields,
  filterFields,
  nameField,
  oneSubscriber,
  secretField,
  subscriberSchema,
  urlField,
} from './fields.ts';

export function mountSubscribers(app: Api, { sql, changes, secrets, settings }: ApiDeps): void {
  const means = { sql: changes, secrets };
  const known = { sites: settings.sites.map(({ name }) => name), webhooks: settings.webhooks };
  const shown = { secrets, configured: settings.subscribers };

  app.openapi(listRoute, async (c) => {
    const read = ({ before: after, limit }: PagePlace) => subscriberPage(sql, { after, limit });
    const { page, nextCursor } = await readPage(c.req.valid('query'), read);
    return c.json({ data: page.map((row) => subscriberBody(row, shown)), nextCursor }, 200);
  });

  app.openapi(addRoute(means, known), async (c) => {
    const { types = null, sites = null, states = null, description = null, ...rest } = c.req.valid('json');
    const filters = { types: distinct(types), sites: distinct(sites), states: distinct(states), description };
    const { row, secret } = await addSubscriber(means, { ...rest, ...filters });
    c.header('location', `/v1/subscribers/${row.name}`);
    return c.json({ ...subscriberBody(row, shown), secret }, 201);
  });

  app.openapi(readRoute, async (c) => {
    const row = await requireSubscriber(sql, c.req.valid('param').id);
    return c.json(subscriberBody(row, shown), 200);
  });

  app.openapi(changeRoute(known), async (c) => {
    const { types, sites, states, ...rest } = c.req.valid('json');
    const filters = { types: distinct(types), sites: distinct(sites), states: distinct(states) };
    const row = await changeSubscriber(means, c.req.valid('param').id, { ...rest, ...filters });
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

const answer = (description: string) => jsonAnswer(description, subscriberSchema);

const listRoute = route('GET /v1/subscribers', {
  summary: 'List subscribers',
  description: 'Those of the configuration and those made here, the oldest first.',
  query: pageParameters,
  answers: { 200: pageAnswer(subscriberSchema) },
});

const addedSchema = subscriberSchema.extend({ secret: z.string() }).openapi('AddedSubscriber');

export type AddedSubscriberBody = z.output<typeof addedSchema>;

const addRoute = (means: Pick<ApiDeps, 'sql' | 'secrets'>, known: CheckedAgainst) =>
  route('POST /v1/subscribers', {
    summary: 'Add a subscriber',
    description:
      'It gets what happens from now on; what happened before can be sent with `replay`. The answer shows the secret that signs, and nothing shows it again.',
    limit: 64 * 1024,
    idempotent: means,
    body: strict({
      name: nameField,
      url: urlField(known),
      secret: secretField.optional(),
      ...extraFields,
      ...filterFields(known),
    }).openapi('NewSubscriber'),
    answers: { 201: jsonAnswer('It was added. Keep the secret.', addedSchema) },
    problems: ['unknown_site', 'subscriber_exists', 'secrets_key_missing', 'secrets_key_wrong'],
  });

const readRoute = route('GET /v1/subscribers/{id}', {
  summary: 'Read a subscriber',
  description: 'As the list has it. Secrets and private keys are never shown.',
  ...oneSubscriber,
  answers: { 200: answer('The subscriber, without its secret.') },
});

const changeRoute = (known: CheckedAgainst) =>
  route('PATCH /v1/subscribers/{id}', {
    summary: 'Change a subscriber',
    description:
      'What is absent stays. With `status` a subscriber is switched off, or on again: then it is sent what waits. A `url` of another origin (scheme, host, port) needs `headers` beside it where the subscriber has some: stored values are not sent there (`headers_not_given`). Of those that the configuration names only `status` is changed here.',
    limit: 64 * 1024,
    ...oneSubscriber,
    body: strict({
      url: urlField(known).optional(),
      ...extraFields,
      ...filterFields(known),
      status: z.enum(['active', 'off'], { error: 'must be active or off' }).optional(),
    }).openapi('SubscriberChanges'),
    answers: { 200: answer('The subscriber as it is now.') },
    problems: [
      'unknown_site',
      'subscriber_not_found',
      'subscriber_configured',
      'secrets_key_missing',
      'secrets_key_wrong',
      'headers_not_given',
    ],
  });

const removeRoute = route('DELETE /v1/subscribers/{id}', {
  summary: 'Remove a subscriber',
  description: 'What waits for it is suppressed. Its deliveries stay to be read, and its name may be used again.',
  ...oneSubscriber,
  answers: { 204: { description: 'It gets nothing any more.' } },
  problems: ['subscriber_not_found', 'subscriber_configured'],
});
