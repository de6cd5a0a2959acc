import { expect, test } from 'vitest';
import {
  completedEvents,
  type EventDraft,
  eventBody,
  purchaseDraftOf,
  stateOrNull,
} from '../../../src/domain/events/make-event.ts';
import { EVENT_TYPES } from '../../../src/domain/events/system-event-types.ts';
import type { Attached, Details } from '../../../src/domain/purchases/purchase.ts';
import { decimal, parseExact } from '../../../src/domain/values/exact-json.ts';
import { isoTime, isoTimeOrNull } from '../../../src/domain/values/time.ts';
import { aPurchase } from '../../support/a-purchase.ts';

const NOTHING: Attached = { reference: null, metadata: null, details: null };
const at = Date.UTC(2026, 10, 20, 9, 15, 2, 123);

/** What an event says whose own fields are `data`. */
const completed = (data: EventDraft['data'], seen: Details | null, attached: Attached): EventDraft =>
  completedEvents([{ type: 'purchase.state_changed', sequence: 3, at, state: 2, data }], seen, attached)[0]!;

test('a body is the text of the contract, field by field', () => {
  const purchase = aPurchase({ site: 'se', purchaseId: 'abc' });
  const draft = purchaseDraftOf('purchase.readable', { purchase, sequence: 3, at, state: 2 }, { state: stateOrNull(2) });
  const attached = { reference: 'ORD-1', metadata: '{"cart": 7}', details: null };
  const details = { Price: decimal('249.50'), CurrencyCode: 'SEK', OrderReference: 'o-1', SiteCode: 'x' };
  expect(eventBody('evt_1', completedEvents([draft], details, attached)[0]!)).toBe(
    '{"id":"evt_1","type":"purchase.readable","timestamp":"2026-11-20T09:15:02.123Z","data":' +
      '{"site":"se","purchaseId":"abc","sequence":3,"state":{"value":2,"name":"Completed"},' +
      '"reference":"ORD-1","metadata":{"cart":7},"price":249.50,"currency":"SEK","orderReference":"o-1"}}',
  );
});

test('what a purchase does not have is null, never left out', () => {
  expect(completed({}, null, NOTHING).data).toEqual({
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
  expect(completed({}, { PaymentMethod: 2, CountryCode: 'SE' }, NOTHING).data).not.toHaveProperty('PaymentMethod');
});

test('fields come from the answer, and from the store where the poll brought none', () => {
  const attached = { ...NOTHING, details: '{"Price":1.50}' };
  expect(eventBody('evt_1', completed({}, { Price: 2 }, attached))).toContain('"price":2,');
  expect(eventBody('evt_1', completed({}, null, attached))).toContain('"price":1.50,');
});

test('a number that no price has is left out', () => {
  const price = (digits: string) => completed({}, { Price: decimal(digits) }, NOTHING).data.price;
  expect([price('1.50'), price('9'.repeat(40))]).toEqual([decimal('1.50'), null]);
});

test('digits in metadata survive', () => {
  const body = eventBody('evt_1', completed({}, null, { ...NOTHING, metadata: '{"sum": 10.10}' }));
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
    'purchase.at_risk',
    'purchase.recovered',
    'purchase.unreadable',
    'purchase.readable',
    'purchase.expired',
    'purchase.invoice_ready',
    'site.unreachable',
    'site.reachable',
    'site.unknown_state',
    'order.paid_twice',
    'subscriber.test',
  ]);
});
