/** Calls about a namespace as a whole: settings, clock, reset. */
import { createRoute } from '@hono/zod-openapi';
import { type ControlApp, controlOf, type Directory, jsonAnswer, jsonRequest, optionalJsonRequest } from './definitions.ts';
import { BODY_PROBLEMS, problems } from './problems.ts';
import { advanceBody, clockSchema, namespacesSchema, resetBody, settingsSchema } from './schemas.ts';
import { SETTINGS, settingsOf } from './settings-answer.ts';

/** Mounts the calls. */
export function mountService(app: ControlApp, directory: Directory): void {
  app.openapi(settingsRoute, (c) => c.json(settingsOf(controlOf(c)), 200));
  app.openapi(advanceRoute, (c) => c.json(controlOf(c).advance(c.req.valid('json').by), 200));
  app.openapi(resetRoute, (c) => {
    if (c.req.valid('json')?.all) directory.resetAll();
    else controlOf(c).reset();
    return c.json(settingsOf(controlOf(c)), 200);
  });
  app.openapi(namespacesRoute, (c) => {
    const { origin } = new URL(c.req.url);
    const namespaces = directory.list().map(({ name, control }) => {
      return { name, url: name === '' ? origin : `${origin}/ns/${name}`, purchases: control.settings().purchases };
    });
    return c.json({ namespaces }, 200);
  });
}

const settingsRoute = createRoute({
  method: 'get',
  path: '/control/settings',
  operationId: 'getSettings',
  summary: 'Show the settings',
  description: 'What goes wrong at the moment, and the clock.',
  tags: ['Service'],
  responses: { 200: jsonAnswer('The settings.', settingsSchema), ...problems('not_found') },
});

const advanceRoute = createRoute({
  method: 'post',
  path: '/control/clock/advance',
  operationId: 'advanceClock',
  summary: "Advance the purchases' clock",
  description: 'Everything that is due by then happens. Tokens, faults and counters keep to the real clock.',
  tags: ['Service'],
  ...jsonRequest(advanceBody),
  responses: { 200: jsonAnswer('The clock after it.', clockSchema), ...problems(...BODY_PROBLEMS) },
});

const resetRoute = createRoute({
  method: 'post',
  path: '/control/reset',
  operationId: 'reset',
  summary: 'Forget purchases, faults and counters of this namespace, or of all',
  description: 'Load, latency, pages and clock are as at the start. Tokens stay valid, and ids that were drawn never come again.',
  tags: ['Service'],
  ...optionalJsonRequest(resetBody),
  responses: { 200: SETTINGS, ...problems(...BODY_PROBLEMS) },
});

const namespacesRoute = createRoute({
  method: 'get',
  path: '/control/namespaces',
  operationId: 'listNamespaces',
  summary: 'List namespaces',
  description: 'One begins when a call names it in its address, `/ns/{name}/…`.',
  tags: ['Service'],
  responses: {
    200: jsonAnswer('The namespaces; the one without a name stands first.', namespacesSchema),
    ...problems('not_found'),
  },
});
