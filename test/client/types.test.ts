/**
 * The exported types come from the schemas of the API and of the events (test/domain/events/contract.test.ts refuses a stale file).
 * Here: they are the types of the daemon, and every amount that a schema marks is text in the client.
 */

import { expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import { eventOf } from '../../packages/client/src/events.ts';
import type {
  Invoice,
  InvoiceReadyEvent,
  Purchase,
  PurchaseStatus,
  PurchaseWithTransitions,
  Transition,
  WatchEventType,
} from '../../packages/client/src/index.ts';
import { invoiceOf } from '../../packages/client/src/invoice.ts';
import type { JsonObject } from '../../packages/client/src/json.ts';
import { purchaseOf } from '../../packages/client/src/purchase.ts';
import { invoiceSchema } from '../../src/api/purchases/invoice-body.ts';
import { type limitSchema, purchaseSchema, type transitionSchema } from '../../src/api/purchases/purchase-body.ts';
import { type JsonSchema, systemEventsSchema } from '../../src/domain/events/documents.ts';
import type { InvoiceFacts } from '../../src/domain/events/system-event-types.ts';
import { type EventType, SYSTEM_EVENTS } from '../../src/domain/events/system-event-types.ts';
import type { PurchaseStatus as KnownStatus } from '../../src/domain/purchases/purchase.ts';
import { parseExact } from '../../src/domain/values/exact-json.ts';

test('of events, purchases, transitions and invoices', () => {
  expectTypeOf<WatchEventType>().toEqualTypeOf<EventType>();
  expectTypeOf<PurchaseStatus>().toEqualTypeOf<KnownStatus>();
  expectTypeOf<keyof Purchase>().toEqualTypeOf<keyof z.output<typeof purchaseSchema>>();
  expectTypeOf<NonNullable<PurchaseWithTransitions['limit']>>().toEqualTypeOf<Readonly<z.output<typeof limitSchema>>>();
  expectTypeOf<keyof Transition>().toEqualTypeOf<keyof z.output<typeof transitionSchema>>();
  expectTypeOf<keyof Invoice>().toEqualTypeOf<keyof z.output<typeof invoiceSchema>>();
  expectTypeOf<keyof InvoiceReadyEvent['data']['invoice']>().toEqualTypeOf<keyof InvoiceFacts>();
});

/** An object with each amount that the schema marks, and nothing else. */
function amountsOf(schema: JsonSchema): { [name: string]: unknown } {
  const isAmount = (each: JsonSchema): boolean =>
    each.format === 'decimal' || ((each.anyOf as JsonSchema[] | undefined)?.some(isAmount) ?? false);
  return Object.fromEntries(
    Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, each]): [string, unknown][] =>
      isAmount(each) ? [[name, 'AMOUNT']] : each.properties === undefined ? [] : [[name, amountsOf(each)]],
    ),
  );
}
const withNumbers = (amounts: object): JsonObject =>
  parseExact(JSON.stringify(amounts).replaceAll('"AMOUNT"', '249.50')) as JsonObject;
const withTexts = (amounts: object): object => JSON.parse(JSON.stringify(amounts).replaceAll('AMOUNT', '249.50'));

test.each(Object.entries(SYSTEM_EVENTS))('amounts of %s are text with their digits', (type, schema) => {
  const { data } = amountsOf(systemEventsSchema().$defs![String(schema.meta()?.id)]!) as { data: object };
  expect(data).toEqual(type.startsWith('purchase.') ? expect.objectContaining({ price: 'AMOUNT' }) : {});
  const event = eventOf({ id: 'evt_1', type, timestamp: '2026-11-20T09:15:02.123Z', data: withNumbers(data) });
  expect(event?.data).toEqual(withTexts(data));
});

test('amounts of the payments of an order are text with their digits', () => {
  const data = { site: 'se', payments: [{ price: 'AMOUNT' }, { price: null }] };
  const event = eventOf({
    id: 'evt_1',
    type: 'order.paid_twice',
    timestamp: '2026-11-20T09:15:02.123Z',
    data: withNumbers(data),
  });
  expect(event?.data).toEqual(withTexts(data));
});

test('amounts of purchases and invoices are text with their digits', () => {
  const names = (
    schema: typeof purchaseSchema | (typeof invoiceSchema)['shape']['debitItems']['element'] | typeof invoiceSchema,
  ) =>
    Object.fromEntries(
      Object.keys(schema.shape)
        .filter((name) => /price|amount/i.test(name))
        .map((name) => [name, 'AMOUNT']),
    );
  expect(purchaseOf(withNumbers(names(purchaseSchema)))).toEqual(withTexts(names(purchaseSchema)));
  const item = names(invoiceSchema.shape.debitItems.element);
  const invoice = { ...names(invoiceSchema), debitItems: [item], creditItems: [item] };
  expect(invoiceOf(withNumbers(invoice))).toEqual(withTexts(invoice));
});
