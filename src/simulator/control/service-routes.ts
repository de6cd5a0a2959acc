/** Calls that change how the service of a namespace behaves, and what it counted. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Control, Settings } from '../contract/control.ts';
import { sharedListener } from './control.ts';
import { type ControlApp, controlOf, type Directory, jsonAnswer, jsonRequest, optionalJsonRequest } from './definitions.ts';
import { BODY_PROBLEMS, type ProblemCode, problems } from './problems.ts';
import {
  advanceBody,
  clockSchema,
  countersSchema,
  downBody,
  faultBody,
  idParameter,
  latencyBody,
  loadBody,
  namespacesSchema,
  nothing,
  pageBody,
  resetBody,
  settingsSchema,
} from './schemas.ts';

/** So that the answer has left before its connection is closed. */
const LEAVE_MS = 50;
const SETTINGS = jsonAnswer('The settings after it.', settingsSchema);

/** What a call that changes settings is. */
interface Change<Schema extends z.ZodType> {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: 'Trouble' | 'Service';
  readonly body: Schema;
  readonly status?: 200 | 201 | 202;
  readonly also?: readonly ProblemCode[];
  apply(control: Control, wanted: z.output<Schema>, namespace: string): void;
}

/** Mounts the calls. */
export function mountService(app: ControlApp, directory: Directory): void {
  app.openapi(settingsRoute, (c) => c.json(settingsOf(controlOf(c)), 200));
  mountTrouble(app);
  app.openapi(clearRoute, (c) => {
    controlOf(c).clearFaults();
    return c.json(settingsOf(controlOf(c)), 200);
  });
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

function mountTrouble(app: ControlApp): void {
  const change = <Schema extends z.ZodType>({
    path,
    operationId,
    summary,
    tag,
    body,
    status = 200,
    also = [],
    apply,
  }: Change<Schema>) =>
    app.openapi(
      createRoute({
        ...{ method: 'post', path, operationId, summary, tags: [tag] },
        ...jsonRequest(body),
        responses: { [status]: SETTINGS, ...problems(...BODY_PROBLEMS, ...also) },
      }),
      ((c: Parameters<typeof controlOf>[0] & { req: { valid(target: 'json'): z.output<Schema> } }) => {
        apply(controlOf(c), c.req.valid('json'), c.get('namespace').name);
        return c.json(settingsOf(controlOf(c)), status);
      }) as never,
    );
  change({
    ...{ path: '/control/page/break', operationId: 'breakPage', tag: 'Trouble', body: pageBody, also: ['unknown_site'] },
    summary: 'Break a page of the shop: customers who are on it do not come back',
    apply: (control, page) => control.breakPage(page),
  });
  change({
    ...{ path: '/control/page/fix', operationId: 'fixPage', tag: 'Trouble', body: pageBody, also: ['unknown_site'] },
    summary: 'Fix it: customers come back 2 to 20 seconds later, at the time scale',
    apply: (control, page) => control.fixPage(page),
  });
  change({
    ...{ path: '/control/load', operationId: 'setLoad', summary: 'Let new purchases come by themselves', tag: 'Service' },
    body: loadBody,
    apply: (control, { perMinute }) => control.setLoad(perMinute),
  });
  change({
    ...{ path: '/control/latency', operationId: 'setLatency', summary: 'Hold every answer back', tag: 'Trouble' },
    body: latencyBody,
    apply: (control, { ms }) => control.setLatency(ms),
  });
  change({
    ...{ path: '/control/faults', operationId: 'addFault', summary: 'Let calls fail', tag: 'Trouble', status: 201 },
    body: faultBody,
    apply: (control, fault) => control.fail(fault),
  });
  change({
    ...{ path: '/control/tokens/expire', operationId: 'expireTokens', summary: 'Make all tokens invalid', tag: 'Trouble' },
    body: nothing,
    apply: (control) => control.expireTokens(),
  });
  change({
    ...{ path: '/control/down', operationId: 'goDown', tag: 'Trouble', body: downBody, status: 202, also: ['shared_listener'] },
    summary: 'Refuse connections for a time, in every namespace; the controls are away as well',
    apply: (control, outage, namespace) => {
      if (namespace !== '') throw sharedListener();
      setTimeout(() => void control.down(outage), LEAVE_MS);
    },
  });
}

/** The settings as JSON has them: what never ends is null. */
function settingsOf(control: Control): z.output<typeof settingsSchema> {
  const { faults, sites, brokenPages, ...rest }: Settings = control.settings();
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    ...rest,
    sites: [...sites],
    brokenPages: [...brokenPages],
    faults: faults.map((fault) => ({ ...fault, remaining: finite(fault.remaining), until: finite(fault.until) })),
  };
}

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

const settingsRoute = createRoute({
  method: 'get',
  path: '/control/settings',
  operationId: 'getSettings',
  summary: 'Show the settings',
  tags: ['Service'],
  responses: { 200: jsonAnswer('The settings.', settingsSchema) },
});

const clearRoute = createRoute({
  method: 'delete',
  path: '/control/faults',
  operationId: 'clearFaults',
  summary: 'Let no more calls fail',
  tags: ['Trouble'],
  responses: { 200: SETTINGS, ...problems('cross_site') },
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
  responses: { 200: jsonAnswer('The namespaces; the one without a name stands first.', namespacesSchema) },
});

const countersRoute = createRoute({
  method: 'get',
  path: '/control/counters',
  operationId: 'getCounters',
  summary: 'Show what was called, and how often at once',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('The counters.', countersSchema) },
});

const callsRoute = createRoute({
  method: 'get',
  path: '/control/counters/purchases',
  operationId: 'getCallsPerPurchase',
  summary: 'Show how often each purchase was asked about',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('Calls by Purchase ID.', z.record(z.string(), z.int())) },
});

const callsOfRoute = createRoute({
  method: 'get',
  path: '/control/counters/purchases/{id}',
  operationId: 'getCallsOfPurchase',
  summary: 'Show how often one purchase was asked about',
  tags: ['Counters'],
  request: { params: idParameter },
  responses: { 200: jsonAnswer('Calls.', z.object({ calls: z.int() })) },
});

const resetCountersRoute = createRoute({
  method: 'post',
  path: '/control/counters/reset',
  operationId: 'resetCounters',
  summary: 'Count from zero again',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('The counters after it.', countersSchema), ...problems('cross_site') },
});

const sensitiveRoute = createRoute({
  method: 'get',
  path: '/control/sensitive-values',
  operationId: 'getSensitiveValues',
  summary: 'List personal data and secrets that answers have shown',
  description: 'To be searched for where they must not be.',
  tags: ['Counters'],
  responses: { 200: jsonAnswer('The values.', z.object({ values: z.array(z.string()) })) },
});
