import { expect, test } from 'vitest';
import { logOutcome } from '../../../src/daemon/poller/outcome-log.ts';
import type { PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { aPurchase } from '../../support/a-purchase.ts';
import { aLog } from '../notifier/parts.ts';

const event = (type: string) => ({ type, sequence: 4 });
const MOVE = { sequence: 4, from: null, to: 6, notBefore: null, notAfter: 0 };

test.each<[string, object, boolean, object[]]>([
  [
    'a change',
    { kind: 'changed', events: [event('purchase.state_changed')], transition: MOVE },
    true,
    [{ level: 'info', event: 'purchase.state_changed', sequence: 4, from: null, to: 'WaitingForCardPayments' }],
  ],
  [
    'unreadable',
    { kind: 'changed', reason: 'unknown', lastError: 'Not found.', events: [event('purchase.unreadable')] },
    true,
    [{ level: 'warn', event: 'purchase.unreadable', reason: 'unknown', detail: 'Not found.' }],
  ],
  ['stuck', { kind: 'changed', events: [event('purchase.stuck')] }, true, [{ level: 'info', event: 'purchase.stuck' }]],
  ['a failure', { kind: 'failed', reason: 'malformed' }, true, [{ level: 'debug', event: 'poll.failed', reason: 'malformed' }]],
  ['nothing new', { kind: 'unchanged' }, true, []],
  // Another replica has the shard now, or a person changed the purchase.
  [
    'refused',
    { kind: 'changed', events: [event('purchase.stuck')] },
    false,
    [{ level: 'debug', event: 'poll.failed', reason: 'refused' }],
  ],
])('%s', (_, outcome, accepted, lines) => {
  const { log, logged } = aLog();
  const whole = { reason: 'same', events: [], transition: null, lastError: null, ...outcome } as unknown as PollOutcome;
  logOutcome(log, aPurchase({ site: 'se', purchaseId: 'p-7' }), whole, accepted);
  expect(logged).toEqual(lines.map((line) => expect.objectContaining({ site: 'se', purchaseId: 'p-7', ...line })));
});
