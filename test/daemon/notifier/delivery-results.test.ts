/** What an attempt leaves behind; that it is written, and tried again until it is, is tested in stories/locked-rows and database-trouble. */
import { expect, test } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { report, settlementOf } from '../../../src/daemon/notifier/delivery-results.ts';
import { REPLAYED } from '../../../src/postgres/deliveries/deliveries.ts';
import { aDelivery, aLog, aSubscriber, NOW } from './parts.ts';

const ATTEMPT = { tookMs: 9, excerpt: 'no', httpStatus: 503 };
const DELIVERED: SendResult = { kind: 'delivered', ...ATTEMPT, httpStatus: 200 };
const REFUSAL = { ...ATTEMPT, reason: 'http_503', detail: 'The receiver answers 503.' };
const FAILED: SendResult = { kind: 'failed', retryAfter: null, fault: 'receiver', ...REFUSAL };
const settled = (
  result: SendResult,
  differs: Parameters<typeof aDelivery>[1] = {},
  { isReplaced = false, since = null as number | null } = {},
) =>
  settlementOf({ recipient: { schedule: [5_000, 60_000] }, health: { own: { since } } }, aDelivery(1, differs), result, {
    ...{ now: NOW, spread: 0, isReplaced },
  });

test('a delivery that was taken is delivered, at whatever attempt', () => {
  expect(settled(DELIVERED, { attempts: 2 })).toMatchObject({
    status: 'delivered',
    number: 3,
    fault: null,
    error: null,
    outcome: 'delivered',
  });
});

test.each([
  ['the first', 0, { status: 'pending', dueAt: NOW + 5_000, rank: 0 }],
  ['the second', 1, { status: 'pending', dueAt: NOW + 60_000, rank: 1 }],
  ['the last', 2, { status: 'exhausted', dueAt: NOW, rank: 1 }],
])('after %s failure by the receiver', (_, attempts, expected) => {
  expect(settled(FAILED, { attempts })).toMatchObject({
    ...expected,
    number: attempts + 1,
    fault: 'receiver',
    outcome: 'http_503',
  });
});

test('attempts from before it was sent again do not count, and a replay stays one', () => {
  expect(settled(FAILED, { attempts: 2, attemptsBefore: 2, rank: REPLAYED })).toMatchObject({
    ...{ status: 'pending', number: 3, dueAt: NOW + 5_000, rank: REPLAYED },
  });
});

test('a failure of ours waits half as long as we have failed, and never exhausts', () => {
  const ours: SendResult = { ...FAILED, fault: 'ours' };
  expect(settled(ours, { attempts: 9 })).toMatchObject({ status: 'pending', fault: 'ours', dueAt: NOW + 5_000 });
  expect(settled(ours, {}, { since: NOW - 60_000 })).toMatchObject({ dueAt: NOW + 30_000 });
});

test('a receiver that asks for fewer messages gets it later, and the schedule does not count it', () => {
  const limit: SendResult = { ...FAILED, isLimit: true, retryAfter: 20_000 };
  const { dueAt, ...rest } = settled(limit, { attempts: 2 });
  expect(rest).toMatchObject({ status: 'pending', isUncounted: true, fault: 'receiver' });
  expect(dueAt).toBeGreaterThanOrEqual(NOW + 20_000);
  expect(dueAt).toBeLessThan(NOW + 21_000);
});

test('an address that was replaced, or takes nothing any more, is not held against the delivery', () => {
  expect(settled(FAILED, { attempts: 9 }, { isReplaced: true })).toMatchObject({ status: 'pending', dueAt: NOW });
  expect(settled({ kind: 'gone', ...REFUSAL }, { attempts: 9 })).toMatchObject({
    status: 'pending',
    dueAt: NOW,
    fault: 'receiver',
  });
});

test.each<[string, Parameters<typeof settled>, { reason: string } | null, object]>([
  ['delivered', [DELIVERED], null, { level: 'debug', event: 'delivery.delivered', httpStatus: 200 }],
  ['a failure', [FAILED], null, { level: 'warn', event: 'delivery.failed', reason: 'http_503', retryInMs: 5_000 }],
  ['the last failure', [FAILED, { attempts: 2 }], null, { level: 'error', event: 'delivery.exhausted', retryInMs: null }],
  [
    'switched off',
    [FAILED],
    { reason: 'It answered 410.' },
    { level: 'error', event: 'subscriber.switched_off', detail: 'It answered 410.' },
  ],
])('is logged: %s', (_, given, off, expected) => {
  const { log, logged } = aLog();
  report(log, aSubscriber(), aDelivery(1), settled(...given), off as Parameters<typeof report>[4]);
  expect(logged).toEqual([expect.objectContaining({ subscriber: 'shop', eventId: 'evt_1', ...expected })]);
});
