/** Calls about purchases: negotiating, adding, reading, and what a customer does. */
import { z } from '@hono/zod-openapi';
import { SimulatorError } from '../contract/error.ts';
import { missingPurchase } from '../purchases/purchases.ts';
import { addressIn, type ControlApp, callsOf } from './definitions.ts';
import {
  addBody,
  customerBody,
  listQuery,
  negotiateBody,
  negotiatedSchema,
  purchaseSchema,
  recentQuery,
  stateBody,
} from './schemas.ts';

const LIST = z.object({ purchases: z.array(purchaseSchema) });

export function mountPurchases(app: ControlApp): void {
  mountNew(app);
  const mount = callsOf(app, 'Purchases');
  mount({
    path: '/control/purchases',
    operationId: 'listPurchases',
    summary: 'List purchases, newest first',
    description: '100 unless `limit` names another count.',
    query: listQuery,
    answer: ['Purchases.', LIST],
    fails: ['invalid_request'],
    run: ({ control, query }) => ({ purchases: control.list(query) }),
  });
  mount({
    path: '/control/recent',
    operationId: 'listRecentPurchases',
    summary: 'List purchases made after a number, oldest first',
    description: 'For a program that follows new purchases: each call asks with `last` of the call before.',
    query: recentQuery,
    answer: ['Purchases; `last` is the next `after`.', LIST.extend({ last: z.int() })],
    fails: ['invalid_request'],
    run: ({ control, query }) => control.recent(query),
  });
  mount({
    path: '/control/purchases/{id}',
    operationId: 'getPurchase',
    summary: 'Show a purchase with the true times of its changes',
    description: 'To compare with what a watcher found out.',
    answer: ['The purchase.', purchaseSchema],
    fails: ['purchase_not_found'],
    run: ({ control, id }) => {
      const purchase = control.get(id);
      if (purchase === null) throw missingPurchase(id);
      return purchase;
    },
  });
  mount({
    path: '/control/purchases/{id}/customer',
    operationId: 'actAsCustomer',
    summary: 'Let the customer open the page, pay, leave or cancel',
    description:
      '`pays` leads through the state in which the payment method waits to Completed, unless the page is broken; `leaves` ends in that state, and times out half an hour later.',
    body: customerBody,
    answer: ['The purchase after it.', purchaseSchema],
    fails: ['purchase_not_found', 'purchase_ended'],
    run: ({ control, id, body }) => control.customer(id, body.does),
  });
  mount({
    path: '/control/purchases/{id}/state',
    operationId: 'setPurchaseState',
    summary: 'Put a purchase into a state, and end its life there',
    description: 'By name or number; numbers that the specification does not have are accepted.',
    body: stateBody,
    answer: ['The purchase after it.', purchaseSchema],
    fails: ['purchase_not_found', 'purchase_ended'],
    run: ({ control, id, body }) => control.setState(id, body.state),
  });
}

function mountNew(app: ControlApp): void {
  const mount = callsOf(app, 'Purchases');
  mount({
    path: '/control/negotiate',
    operationId: 'negotiate',
    summary: 'Negotiate a purchase, as a shop does first',
    description:
      "The specification does not say how a shop negotiates, so this call is the simulator's own: put it behind the function of your shop that negotiates. The purchase is New until its customer acts, on the page or by `actAsCustomer`; without that it times out after an hour of its clock.",
    body: negotiateBody,
    status: 201,
    answer: ['The Purchase ID, and the page where the customer pays.', negotiatedSchema],
    fails: ['unknown_site', 'purchase_exists'],
    run: ({ control, body, origin, name }) => {
      const { purchaseId } = control.negotiate(body);
      const pageUrl = `${addressIn(origin, name)}/control/checkout/${encodeURIComponent(purchaseId)}`;
      return { ...control.get(purchaseId)!, pageUrl };
    },
  });
  mount({
    path: '/control/purchases',
    operationId: 'addPurchases',
    summary: 'Add purchases that live by themselves',
    description: 'All of the same kind; what is left out is drawn for each.',
    body: addBody,
    status: 201,
    answer: ['The purchases.', LIST],
    fails: ['unknown_site', 'purchase_exists'],
    run: ({ control, body: { count, purchaseId, ...spec } }) => {
      if (count > 1 && purchaseId !== undefined)
        throw new SimulatorError('invalid_request', 'cannot be given to several purchases; leave it out', {
          field: 'purchaseId',
        });
      return { purchases: count === 1 ? [control.add({ ...spec, purchaseId })] : control.addMany(count, spec) };
    },
  });
}
