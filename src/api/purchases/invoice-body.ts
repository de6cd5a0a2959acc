/** An invoice as the API shows it: all of it, for a caller who may see it. */

import { z } from '@hono/zod-openapi';
import type { Decimal, JsonValue } from '../../domain/values/exact-json.ts';
import { named, textOrNull } from '../http/fields.ts';
import { isThere, stateSchema } from './purchase-body.ts';

const text = textOrNull;
const amount = z
  .custom<Decimal | null>(isThere)
  .openapi({ type: ['number', 'null'], format: 'decimal', description: 'With the digits the service sent.' });
const date = textOrNull.openapi({
  description: "A date of the service's calendar, as it wrote it, without an offset.",
  example: '2026-12-20T00:00:00',
});

const itemSchema = named('InvoiceItem', {
  description: text,
  notes: text,
  amount,
  taxCode: z.custom<JsonValue>(isThere).openapi({
    type: ['string', 'number', 'boolean', 'object', 'array', 'null'],
    items: {},
    description: 'As the service sent it; its type is not specified.',
  }),
  taxAmount: amount,
});

export const invoiceSchema = named('Invoice', {
  purchaseId: z.string(),
  site: z.string(),
  state: stateSchema,
  completed: textOrNull.openapi({ format: 'date-time' }),
  totalAmount: amount,
  totalAuthorizedAmount: amount,
  minimumAmountToPay: amount,
  invoiceDate: date,
  dueDate: date,
  bankAccount: text,
  accountNumber: text,
  aliasAccount: text,
  receiver: text,
  invoicingFirstName: text,
  invoicingLastName: text,
  invoicingAddressLine1: text,
  invoicingAddressLine2: text,
  invoicingZip: text,
  invoicingCity: text,
  debitItems: z.array(itemSchema),
  creditItems: z.array(itemSchema),
});

export type InvoiceContentBody = z.output<typeof invoiceSchema>;
