/** The controls over HTTP: JSON under /control/…, and the page. */
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { z } from 'zod';
import { FAULT_KINDS } from '../service/faults.ts';
import { OPERATIONS } from '../values/call.ts';
import { ControlError } from '../values/control-error.ts';
import type { Control } from './control.ts';
import { controlPage, purchaseRows } from './page.ts';

/** An object with these fields and no others; the error for another field lists them all. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${issue.keys.map((key) => JSON.stringify(key)).join(', ')} is not known here; ${known.length === 0 ? 'nothing is' : `known: ${known.join(', ')}`}`
        : undefined,
  });
}

const state = z.union([z.string(), z.number().int()]);
const duration = z.union([
  z.string().regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, 'write a duration like 250ms, 5s, 10m, 24h or 30d'),
  z.number().nonnegative(),
]);
const step = fields({
  state,
  after: z.union([z.literal('page-fixed'), duration]).optional(),
  afterPolls: z.number().int().positive().optional(),
});
const addBody = fields({
  count: z.number().int().min(1).max(100_000).default(1),
  purchaseId: z.string().min(1).optional(),
  site: z.string().optional(),
  script: z.union([z.string(), z.array(step).min(1)]).optional(),
  paymentMethod: z.union([z.string(), z.number().int()]).optional(),
  price: z.union([z.string(), z.number()]).optional(),
  currency: z.string().length(3).optional(),
});
const pageBody = fields({ site: z.string().optional(), states: z.array(state).optional() });
const faultBody = fields({
  kind: z.enum(FAULT_KINDS),
  times: z.number().int().positive().optional(),
  for: duration.optional(),
  only: z.enum(OPERATIONS).optional(),
  purchaseId: z.string().optional(),
  share: z.number().min(0).max(1).optional(),
  retryAfter: z.number().nonnegative().optional(),
  state: z.number().int().optional(),
});
const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(10_000).optional(),
  site: z.string().optional(),
  state: z.string().optional(),
  finished: z.stringbool().optional(),
});
const recentQuery = z.object({
  after: z.coerce.number().int().optional(),
  limit: z.coerce.number().int().min(1).max(10_000).optional(),
});
/** While the listener is closed no call could ask for `up`, so over HTTP the outage ends by itself. */
const downBody = fields({ for: duration.default('30s') });
/** So that the answer has left before its connection is closed. */
const LEAVE_MS = 50;

/** A request listener for everything under /control, and for the page at /. */
export function createControlListener(control: Control) {
  const app = new Hono();
  app.onError((error, context) => {
    if (error instanceof ControlError) return context.json({ error: error.message }, error.status);
    if (error instanceof z.ZodError) return context.json({ error: inWords(error) }, 400);
    throw error;
  });
  app.notFound((context) => context.json({ error: 'there is no such control' }, 404));

  app.get('/', (context) => context.redirect('/control'));
  app.get('/control', (context) => context.html(controlPage(control)));
  app.get('/control/rows', (context) => context.html(purchaseRows(control)));
  app.get('/control/settings', (context) => context.json(control.settings()));

  app.get('/control/purchases', (context) => context.json({ purchases: control.list(listQuery.parse(context.req.query())) }));
  app.get('/control/recent', (context) => context.json(control.recent(recentQuery.parse(context.req.query()))));
  app.post('/control/purchases', async (context) => {
    const { count, ...spec } = await body(context, addBody);
    return context.json({ purchases: count === 1 ? [control.add(spec)] : control.addMany(count, withoutId(spec)) }, 201);
  });
  app.get('/control/purchases/:id', (context) => {
    const purchase = control.get(context.req.param('id'));
    return purchase === null ? context.notFound() : context.json(purchase);
  });
  app.post('/control/purchases/:id/state', async (context) => {
    const wanted = await body(context, fields({ state }));
    return context.json(control.setState(context.req.param('id'), wanted.state));
  });

  const settings = <T>(path: string, schema: z.ZodType<T>, apply: (wanted: T) => void, status: ContentfulStatusCode = 200) =>
    app.post(path, async (context) => {
      apply(await body(context, schema));
      return context.json(control.settings(), status);
    });
  settings('/control/page/break', pageBody, control.breakPage);
  settings('/control/page/fix', pageBody, control.fixPage);
  settings('/control/load', fields({ perMinute: z.number().nonnegative() }), ({ perMinute }) => control.setLoad(perMinute));
  settings('/control/latency', fields({ ms: z.number().nonnegative() }), ({ ms }) => control.setLatency(ms));
  settings('/control/faults', faultBody, control.fail, 201);
  settings('/control/tokens/expire', fields({}), control.expireTokens);
  settings('/control/down', downBody, (outage) => setTimeout(control.down, LEAVE_MS, outage), 202);
  app.delete('/control/faults', (context) => {
    control.clearFaults();
    return context.json(control.settings());
  });

  app.get('/control/counters', (context) => context.json(control.counters()));
  app.get('/control/counters/purchases', (context) => context.json(Object.fromEntries(control.callsPerPurchase())));
  app.get('/control/counters/purchases/:id', (context) => context.json({ calls: control.callsOf(context.req.param('id')) }));
  app.post('/control/counters/reset', (context) => {
    control.resetCounters();
    return context.json(control.counters());
  });
  app.get('/control/sensitive-values', (context) => context.json({ values: control.sensitiveValues() }));

  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

/** Reads a JSON body. Other content types are refused: a page elsewhere could send those across sites without asking. */
async function body<T>(context: Context, schema: z.ZodType<T>): Promise<T> {
  if (context.req.header('content-type')?.startsWith('application/json') !== true) {
    throw new ControlError(400, 'send JSON with the content type application/json');
  }
  const text = await context.req.text();
  try {
    return schema.parse(JSON.parse(text === '' ? '{}' : text));
  } catch (error) {
    if (error instanceof SyntaxError) throw new ControlError(400, 'the body is not JSON');
    throw error;
  }
}

function inWords({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)).join('; ');
}

function withoutId<T extends { purchaseId?: unknown }>(spec: T): Omit<T, 'purchaseId'> {
  if (spec.purchaseId !== undefined) throw new ControlError(400, 'several purchases cannot have one purchaseId');
  return spec;
}
