/** Calls about purchases: negotiating, adding, reading, and what a customer does. */
import { createRoute, z } from '@hono/zod-openapi';
import { SimulatorError } from '../contract/error.ts';
import { missingPurchase } from '../purchases/purchases.ts';
import { baseOf, type ControlApp, controlOf, jsonAnswer, jsonRequest } from './definitions.ts';
import { BODY_PROBLEMS, problems } from './problems.ts';
import {
  addBody,
  customerBody,
  idParameter,
  listQuery,
  negotiateBody,
  negotiatedSchema,
  purchaseSchema,
  recentQuery,
  stateBody,
} from './schemas.ts';

const PURCHASES = ['Purchases'];
const CHANGE = problems('purchase_not_found', 'purchase_ended', ...BODY_PROBLEMS);

/** Mounts the calls. */
export function mountPurchases(app: ControlApp): void {
  app.openapi(negotiateRoute, (c) => {
    const { purchaseId } = controlOf(c).negotiate(c.req.valid('json'));
    const pageUrl = `${baseOf(c)}/control/checkout/${encodeURIComponent(purchaseId)}`;
    return c.json({ ...controlOf(c).get(purchaseId)!, pageUrl }, 201);
  });
  app.openapi(addRoute, (c) => {
    const { count, purchaseId, ...spec } = c.req.valid('json');
    const control = controlOf(c);
    if (count > 1 && purchaseId !== undefined)
      throw new SimulatorError('invalid_request', 'cannot be given to several purchases; leave it out', { field: 'purchaseId' });
    const purchases = count === 1 ? [control.add({ ...spec, purchaseId })] : control.addMany(count, spec);
    return c.json({ purchases: purchases }, 201);
  });
  app.openapi(listRoute, (c) => c.json({ purchases: controlOf(c).list(c.req.valid('query')) }, 200));
  app.openapi(recentRoute, (c) => {
    const { purchases, last } = controlOf(c).recent(c.req.valid('query'));
    return c.json({ purchases: purchases, last }, 200);
  });
  app.openapi(getRoute, (c) => {
    const { id } = c.req.valid('param');
    const purchase = controlOf(c).get(id);
    if (purchase === null) throw missingPurchase(id);
    return c.json(purchase, 200);
  });
  app.openapi(customerRoute, (c) => c.json(controlOf(c).customer(c.req.valid('param').id, c.req.valid('json').does), 200));
  app.openapi(stateRoute, (c) => c.json(controlOf(c).setState(c.req.valid('param').id, c.req.valid('json').state), 200));
}

const negotiateRoute = createRoute({
  method: 'post',
  path: '/control/negotiate',
  operationId: 'negotiate',
  summary: 'Negotiate a purchase, as a shop does first',
  description:
    "The specification does not say how a shop negotiates, so this call is the simulator's own: put it behind the function of your shop that negotiates. The purchase is New until its customer acts, on the page or by `actAsCustomer`; without that it times out after an hour of its clock.",
  tags: PURCHASES,
  ...jsonRequest(negotiateBody),
  responses: {
    201: jsonAnswer('The Purchase ID, and the page where the customer pays.', negotiatedSchema),
    ...problems('unknown_site', 'purchase_exists', ...BODY_PROBLEMS),
  },
});

const addRoute = createRoute({
  method: 'post',
  path: '/control/purchases',
  operationId: 'addPurchases',
  summary: 'Add purchases that live by themselves',
  description: 'All of the same kind; what is left out is drawn for each.',
  tags: PURCHASES,
  ...jsonRequest(addBody),
  responses: {
    201: jsonAnswer('The purchases.', z.object({ purchases: z.array(purchaseSchema) })),
    ...problems('unknown_site', 'purchase_exists', ...BODY_PROBLEMS),
  },
});

const listRoute = createRoute({
  method: 'get',
  path: '/control/purchases',
  operationId: 'listPurchases',
  summary: 'List purchases, newest first',
  description: '100 unless `limit` names another count.',
  tags: PURCHASES,
  request: { query: listQuery },
  responses: { 200: jsonAnswer('Purchases.', z.object({ purchases: z.array(purchaseSchema) })), ...problems('invalid_request') },
});

const recentRoute = createRoute({
  method: 'get',
  path: '/control/recent',
  operationId: 'listRecentPurchases',
  summary: 'List purchases made after a number, oldest first',
  description: 'For a program that follows new purchases: each call asks with `last` of the call before.',
  tags: PURCHASES,
  request: { query: recentQuery },
  responses: {
    200: jsonAnswer('Purchases; `last` is the next `after`.', z.object({ purchases: z.array(purchaseSchema), last: z.int() })),
    ...problems('invalid_request'),
  },
});

const getRoute = createRoute({
  method: 'get',
  path: '/control/purchases/{id}',
  operationId: 'getPurchase',
  summary: 'Show a purchase with the true times of its changes',
  description: 'To compare with what a watcher found out.',
  tags: PURCHASES,
  request: { params: idParameter },
  responses: { 200: jsonAnswer('The purchase.', purchaseSchema), ...problems('purchase_not_found') },
});

const customer = jsonRequest(customerBody);
const customerRoute = createRoute({
  method: 'post',
  path: '/control/purchases/{id}/customer',
  operationId: 'actAsCustomer',
  summary: 'Let the customer open the page, pay, leave or cancel',
  description:
    '`pays` leads through the state in which the payment method waits to Completed, unless the page is broken; `leaves` ends in that state, and times out half an hour later.',
  tags: PURCHASES,
  ...customer,
  request: { ...customer.request, params: idParameter },
  responses: { 200: jsonAnswer('The purchase after it.', purchaseSchema), ...CHANGE },
});

const state = jsonRequest(stateBody);
const stateRoute = createRoute({
  method: 'post',
  path: '/control/purchases/{id}/state',
  operationId: 'setPurchaseState',
  summary: 'Put a purchase into a state, and end its life there',
  description: 'By name or number; numbers that the specification does not have are accepted.',
  tags: PURCHASES,
  ...state,
  request: { ...state.request, params: idParameter },
  responses: { 200: jsonAnswer('The purchase after it.', purchaseSchema), ...CHANGE },
});
