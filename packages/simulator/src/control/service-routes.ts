/** Calls about a namespace as a whole: settings, clock, reset. */
import { addressIn, type ControlApp, callsOf, type Directory } from './definitions.ts';
import { advanceBody, clockSchema, loadBody, namespacesSchema, resetBody, settingsSchema } from './schemas.ts';

export function mountService(app: ControlApp, directory: Directory): void {
  const mount = callsOf(app, 'Service');
  mount({
    path: '/control/settings',
    operationId: 'getSettings',
    summary: 'Show the settings',
    description: 'What goes wrong at the moment, and the clock.',
    answer: ['The settings.', settingsSchema],
    fails: ['not_found'],
    run: ({ control }) => control.settings(),
  });
  mount({
    path: '/control/clock/advance',
    operationId: 'advanceClock',
    summary: "Advance the purchases' clock",
    description: 'Everything that is due by then happens. Tokens, faults and counters keep to the real clock.',
    body: advanceBody,
    answer: ['The clock after it.', clockSchema],
    run: ({ control, body }) => control.advance(body.by),
  });
  mount({
    path: '/control/load',
    operationId: 'setLoad',
    summary: 'Let new purchases come by themselves',
    description: 'Customers of all kinds, independently of each other, per minute of the clock, whatever the time scale.',
    body: loadBody,
    run: ({ control, body }) => control.setLoad(body.perMinute),
  });
  mount({
    path: '/control/reset',
    operationId: 'reset',
    summary: 'Forget purchases, faults and counters of this namespace, or of all',
    description:
      'Load, latency, pages and clock are as at the start. Tokens stay valid, and ids that were drawn never come again.',
    body: resetBody,
    isBodyOptional: true,
    run: ({ control, body }) => (body?.all ? directory.resetAll() : control.reset()),
  });
  mount({
    path: '/control/namespaces',
    operationId: 'listNamespaces',
    summary: 'List namespaces',
    description: 'One begins when a call names it in its address, `/ns/{name}/…`.',
    answer: ['The namespaces; the one without a name stands first.', namespacesSchema],
    fails: ['not_found'],
    run: ({ origin }) => ({
      namespaces: directory
        .list()
        .map(({ name, control }) => ({ name, url: addressIn(origin, name), purchases: control.settings().purchases })),
    }),
  });
}
