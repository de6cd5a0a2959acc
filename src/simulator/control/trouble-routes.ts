/** Calls that change how the service of a namespace behaves. */
import { createRoute, type z } from '@hono/zod-openapi';
import type { Control } from '../contract/control.ts';
import { sharedListener } from './control.ts';
import { type ControlApp, controlOf, jsonRequest } from './definitions.ts';
import { BODY_PROBLEMS, type ProblemCode, problems } from './problems.ts';
import { downBody, faultBody, latencyBody, loadBody, nothing, pageBody } from './schemas.ts';
import { SETTINGS, settingsOf } from './settings-answer.ts';

/** So that the answer has left before its connection is closed. */
const LEAVE_MS = 50;

/** What a call that changes settings is. */
interface Change<Schema extends z.ZodType> {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tag: 'Trouble' | 'Service';
  readonly body: Schema;
  readonly status?: 200 | 201 | 202;
  readonly also?: readonly ProblemCode[];
  apply(control: Control, wanted: z.output<Schema>, namespace: string): void;
}

/** Mounts the calls that change settings. */
export function mountTrouble(app: ControlApp): void {
  const change = <Schema extends z.ZodType>({
    path,
    operationId,
    summary,
    description,
    tag,
    body,
    status = 200,
    also = [],
    apply,
  }: Change<Schema>) =>
    app.openapi(
      createRoute({
        ...{ method: 'post', path, operationId, summary, description, tags: [tag] },
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
    description: 'Customers who arrive there later do not come back either; their sessions time out as ever.',
    apply: (control, page) => control.breakPage(page),
  });
  change({
    ...{ path: '/control/page/fix', operationId: 'fixPage', tag: 'Trouble', body: pageBody, also: ['unknown_site'] },
    summary: 'Fix it: customers come back 2 to 20 seconds later, at the time scale',
    description: 'Customers with a life of the kind `stuck-…` come back, too.',
    apply: (control, page) => control.fixPage(page),
  });
  change({
    ...{ path: '/control/load', operationId: 'setLoad', summary: 'Let new purchases come by themselves', tag: 'Service' },
    description: 'Customers of all kinds, independently of each other, per minute of the clock, whatever the time scale.',
    body: loadBody,
    apply: (control, { perMinute }) => control.setLoad(perMinute),
  });
  change({
    ...{ path: '/control/latency', operationId: 'setLatency', summary: 'Hold every answer back', tag: 'Trouble' },
    description: 'Answers of the operations; the controls answer at once.',
    body: latencyBody,
    apply: (control, { ms }) => control.setLatency(ms),
  });
  change({
    ...{ path: '/control/faults', operationId: 'addFault', summary: 'Let calls fail', tag: 'Trouble', status: 201 },
    description: 'One call, unless `times` or `for` is given. The first fault that was added and fits a call is taken.',
    body: faultBody,
    apply: (control, fault) => control.fail(fault),
  });
  change({
    ...{ path: '/control/tokens/expire', operationId: 'expireTokens', summary: 'Make all tokens invalid', tag: 'Trouble' },
    description: 'The next call with such a token is answered 401.',
    body: nothing,
    apply: (control) => control.expireTokens(),
  });
  change({
    ...{ path: '/control/down', operationId: 'goDown', tag: 'Trouble', body: downBody, status: 202, also: ['shared_listener'] },
    summary: 'Refuse connections for a time, in every namespace; the controls are away as well',
    description: 'In a namespace this is refused, because the listener is shared: add a fault of the kind `reset` there.',
    apply: (control, outage, namespace) => {
      if (namespace !== '') throw sharedListener();
      setTimeout(() => void control.down(outage), LEAVE_MS);
    },
  });
  app.openapi(clearRoute, (c) => {
    controlOf(c).clearFaults();
    return c.json(settingsOf(controlOf(c)), 200);
  });
}

const clearRoute = createRoute({
  method: 'delete',
  path: '/control/faults',
  operationId: 'clearFaults',
  summary: 'Let no more calls fail',
  description: 'Calls that are under way still fail.',
  tags: ['Trouble'],
  responses: { 200: SETTINGS, ...problems() },
});
