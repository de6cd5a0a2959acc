import { expect, test } from 'vitest';
import {
  EVENT_TYPES,
  eventBody,
  isoTime,
  isoTimeOrNull,
  purchaseHead,
  purchaseTail,
  stateOrNull,
} from '../../src/core/events.ts';
import { decimal, parseExact } from '../../src/core/exact-json.ts';
import { aPurchase } from '../support/a-purchase.ts';

const at = Date.UTC(2026, 10, 20, 9, 15, 2, 123);

test('a body is the text of the contract, field by field', () => {
  const purchase = aPurchase({ site: 'se', purchaseId: 'abc', reference: 'ORD-1', metadata: '{"cart": 7}' });
  const details = { Price: decimal('249.50'), CurrencyCode: 'SEK', OrderReference: 'o-1', SiteCode: 'x' };
  const data = { ...purchaseHead(purchase, 3), to: stateOrNull(2), ...purchaseTail(purchase, details) };
  expect(eventBody('evt_1', { type: 'purchase.state_changed', sequence: 3, at, state: 2, data })).toBe(
    '{"id":"evt_1","type":"purchase.state_changed","timestamp":"2026-11-20T09:15:02.123Z","data":' +
      '{"site":"se","purchaseId":"abc","sequence":3,"to":{"value":2,"name":"Completed"},' +
      '"reference":"ORD-1","metadata":{"cart":7},"price":249.50,"currency":"SEK","orderReference":"o-1"}}',
  );
});

test('what a purchase does not have is null, never left out', () => {
  expect(purchaseTail(aPurchase(), {})).toEqual({
    reference: null,
    metadata: null,
    price: null,
    currency: null,
    orderReference: null,
  });
  expect(stateOrNull(null)).toBeNull();
  expect(isoTimeOrNull(null)).toBeNull();
});

test('fields that have no name of their own in an event are not in it', () => {
  expect(Object.keys(purchaseTail(aPurchase(), { PaymentMethod: 2, CountryCode: 'SE' }))).not.toContain('PaymentMethod');
});

test('digits in metadata survive', () => {
  const body = eventBody('evt_1', {
    type: 'purchase.stuck',
    sequence: 1,
    at,
    state: 6,
    data: purchaseTail(aPurchase({ metadata: '{"sum": 10.10}' }), {}),
  });
  expect(body).toContain('"metadata":{"sum":10.10}');
  expect(parseExact(body)).toMatchObject({ id: 'evt_1' });
});

test('instants are UTC with milliseconds, also when they carry more', () => {
  expect(isoTime(at)).toBe('2026-11-20T09:15:02.123Z');
  expect(isoTime(at + 0.9)).toBe('2026-11-20T09:15:02.123Z');
});

test('event types are those of the contract', () => {
  expect(EVENT_TYPES).toEqual([
    'purchase.state_changed',
    'purchase.stuck',
    'purchase.recovered',
    'purchase.unreadable',
    'purchase.readable',
    'purchase.expired',
    'purchase.invoice_ready',
    'site.unreachable',
    'site.reachable',
    'site.unknown_state',
    'subscriber.test',
  ]);
});
