/** The counters of calls, over HTTP. */
import { z } from '@hono/zod-openapi';
import { type ControlApp, callsOf } from './definitions.ts';
import { countersSchema } from './schemas.ts';

export function mountCounters(app: ControlApp): void {
  const mount = callsOf(app, 'Counters');
  mount({
    path: '/control/counters',
    operationId: 'getCounters',
    summary: 'Show what was called, and how often at once',
    description: 'Refused calls are counted, too. A window of one second slides along with the calls.',
    answer: ['The counters.', countersSchema],
    fails: ['not_found'],
    run: ({ control }) => control.counters(),
  });
  mount({
    path: '/control/counters/purchases',
    operationId: 'getCallsPerPurchase',
    summary: 'Show how often each purchase was asked about',
    description: 'Ids that no purchase has are counted, too.',
    answer: ['Calls by Purchase ID.', z.record(z.string(), z.int())],
    fails: ['not_found'],
    run: ({ control }) => Object.fromEntries(control.callsPerPurchase()),
  });
  mount({
    path: '/control/counters/purchases/{id}',
    operationId: 'getCallsOfPurchase',
    summary: 'Show how often one purchase was asked about',
    description: 'Both operations together.',
    answer: ['Calls.', z.object({ calls: z.int() })],
    fails: ['not_found'],
    run: ({ control, id }) => ({ calls: control.callsOf(id) }),
  });
  mount({
    method: 'post',
    path: '/control/counters/reset',
    operationId: 'resetCounters',
    summary: 'Count from zero again',
    description: 'Purchases stay as they are.',
    answer: ['The counters after it.', countersSchema],
    run: ({ control }) => {
      control.resetCounters();
      return control.counters();
    },
  });
  mount({
    path: '/control/sensitive-values',
    operationId: 'getSensitiveValues',
    summary: 'List personal data and secrets that answers have shown',
    description: 'To be searched for where they must not be.',
    answer: ['The values.', z.object({ values: z.array(z.string()) })],
    fails: ['not_found'],
    run: ({ control }) => ({ values: control.sensitiveValues() }),
  });
}
