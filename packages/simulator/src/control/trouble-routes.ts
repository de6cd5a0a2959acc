/** Calls that change how the service of a namespace behaves. */
import { sharedListener } from './control.ts';
import { type ControlApp, callsOf } from './definitions.ts';
import { downBody, faultBody, latencyBody, nothing, pageBody } from './schemas.ts';

/** So that the answer has left before its connection is closed. */
const LEAVE_MS = 50;

export function mountTrouble(app: ControlApp): void {
  const mount = callsOf(app, 'Trouble');
  mount({
    path: '/control/page/break',
    operationId: 'breakPage',
    summary: 'Break a page of the shop: customers who are on it do not come back',
    description: 'Customers who arrive there later do not come back either; their sessions time out as ever.',
    body: pageBody,
    fails: ['unknown_site'],
    run: ({ control, body }) => control.breakPage(body),
  });
  mount({
    path: '/control/page/fix',
    operationId: 'fixPage',
    summary: 'Fix it: customers come back 2 to 20 seconds later, at the time scale',
    description: 'Customers with a life of the kind `stuck-…` come back, too.',
    body: pageBody,
    fails: ['unknown_site'],
    run: ({ control, body }) => control.fixPage(body),
  });
  mount({
    path: '/control/latency',
    operationId: 'setLatency',
    summary: 'Hold every answer back',
    description: 'Answers of the operations; the controls answer at once.',
    body: latencyBody,
    run: ({ control, body }) => control.setLatency(body.ms),
  });
  mount({
    path: '/control/faults',
    operationId: 'addFault',
    summary: 'Let calls fail',
    description: 'One call, unless `times` or `for` is given. The first fault that was added and fits a call is taken.',
    body: faultBody,
    status: 201,
    run: ({ control, body }) => void control.fail(body),
  });
  mount({
    method: 'delete',
    path: '/control/faults',
    operationId: 'clearFaults',
    summary: 'Let no more calls fail',
    description: 'Calls that are under way still fail.',
    run: ({ control }) => control.clearFaults(),
  });
  mount({
    path: '/control/tokens/expire',
    operationId: 'expireTokens',
    summary: 'Make all tokens invalid',
    description: 'The next call with such a token is answered 401.',
    body: nothing,
    run: ({ control }) => control.expireTokens(),
  });
  mount({
    path: '/control/down',
    operationId: 'goDown',
    summary: 'Refuse connections for a time, in every namespace; the controls are away as well',
    description: 'In a namespace this is refused, because the listener is shared: add a fault of the kind `reset` there.',
    body: downBody,
    status: 202,
    fails: ['shared_listener'],
    run: ({ control, body, name }) => {
      if (name !== '') throw sharedListener();
      setTimeout(() => void control.down(body), LEAVE_MS);
    },
  });
}
