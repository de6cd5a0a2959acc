/** The exported types say what the API says: a field that one of them lacks fails the type check of this file. */

import { expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type { invoiceSchema } from '../../src/api/purchases/invoice-body.ts';
import type { limitSchema, purchaseSchema, transitionSchema } from '../../src/api/purchases/purchase-body.ts';
import type {
  Invoice,
  InvoiceReadyEvent,
  Purchase,
  PurchaseStatus,
  PurchaseWithTransitions,
  Transition,
  WatchEventType,
} from '../../src/client/index.ts';
import type { InvoiceFacts } from '../../src/domain/deciding/invoice.ts';
import type { EventType } from '../../src/domain/events/system-events.ts';
import type { PurchaseStatus as KnownStatus } from '../../src/domain/purchases/purchase.ts';

test('of events, purchases, transitions and invoices', () => {
  expectTypeOf<WatchEventType>().toEqualTypeOf<EventType>();
  expectTypeOf<PurchaseStatus>().toEqualTypeOf<KnownStatus>();
  expectTypeOf<keyof Purchase>().toEqualTypeOf<keyof z.output<typeof purchaseSchema>>();
  expectTypeOf<NonNullable<PurchaseWithTransitions['limit']>>().toEqualTypeOf<Readonly<z.output<typeof limitSchema>>>();
  expectTypeOf<keyof Transition>().toEqualTypeOf<keyof z.output<typeof transitionSchema>>();
  expectTypeOf<keyof Invoice>().toEqualTypeOf<keyof z.output<typeof invoiceSchema>>();
  expectTypeOf<keyof InvoiceReadyEvent['data']['invoice']>().toEqualTypeOf<keyof InvoiceFacts>();
});
