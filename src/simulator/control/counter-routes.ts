/** What was called, over HTTP. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Control } from '../contract/control.ts';
import { type ControlApp, controlOf, jsonAnswer } from './definitions.ts';
import { problems } from './problems.ts';
import { countersSchema, idParameter } from './schemas.ts';

/** Mounts what was counted. */
export function mountCounters(app: ControlApp): void {
  app.openapi(countersRoute, (c) => c.json(countersOf(controlOf(c)), 200));
  app.openapi(callsRoute, (c) => c.json(Object.fromEntries(controlOf(c).callsPerPurchase()), 200));
  app.openapi(callsOfRoute, (c) => c.json({ calls: controlOf(c).callsOf(c.req.valid('param').id) }, 200));
  app.openapi(resetCountersRoute, (c) => {
    controlOf(c).resetCounters();
    return c.json(countersOf(controlOf(c)), 200);
  });
  app.openapi(sensitiveRoute, (c) => c.json({ values: controlOf(c).sensitiveValues() }, 200));
}

function countersOf(control: Control): z.output<typeof countersSchema> {
  const { overlapping, ...counts } = control.counters();
  return { ...counts, overlapping: [...overlapping] };
}

const countersRoute = createRoute({
  method: 'get',
  path: '/control/counters',
  operationId: 'getCounters',
  summary: 'Show what was called, and how often at once',
  description: 'Refused calls are counted, too. A window of one second slides along with the calls.',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('The counters.', countersSchema), ...problems('not_found') },
});

const callsRoute = createRoute({
  method: 'get',
  path: '/control/counters/purchases',
  operationId: 'getCallsPerPurchase',
  summary: 'Show how often each purchase was asked about',
  description: 'Ids that no purchase has are counted, too.',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('Calls by Purchase ID.', z.record(z.string(), z.int())), ...problems('not_found') },
});

const callsOfRoute = createRoute({
  method: 'get',
  path: '/control/counters/purchases/{id}',
  operationId: 'getCallsOfPurchase',
  summary: 'Show how often one purchase was asked about',
  description: 'Both operations together.',
  tags: ['Counters'],
  request: { params: idParameter },
  responses: { 200: jsonAnswer('Calls.', z.object({ calls: z.int() })), ...problems('not_found') },
});

const resetCountersRoute = createRoute({
  method: 'post',
  path: '/control/counters/reset',
  operationId: 'resetCounters',
  summary: 'Count from zero again',
  description: 'Purchases stay as they are.',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('The counters after it.', countersSchema), ...problems() },
});

const sensitiveRoute = createRoute({
  method: 'get',
  path: '/control/sensitive-values',
  operationId: 'getSensitiveValues',
  summary: 'List personal data and secrets that answers have shown',
  description: 'To be searched for where they must not be.',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('The values.', z.object({ values: z.array(z.string()) })), ...problems('not_found') },
});
