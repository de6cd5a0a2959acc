/** An invoice as the API shows it: all of it, for a caller who may see it. */

import { z } from '@hono/zod-openapi';
import type { Invoice, InvoiceItem } from '../../checkout/invoice-details.ts';
import type { LocalTime } from '../../checkout/local-time.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { Decimal, JsonValue } from '../../domain/values/exact-json.ts';
import { isoTimeOrNull } from '../../domain/values/time.ts';
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

/** An invoice in an answer. */
export type InvoiceContentBody = z.output<typeof invoiceSchema>;

/** An invoice of a site as its body. */
export function invoiceBody(site: string, invoice: Invoice): z.output<typeof invoiceSchema> {
  return {
    purchaseId: invoice.PurchaseId,
    site,
    state: { ...namedState(invoice.State) },
    completed: isoTimeOrNull(invoice.Completed?.instant ?? null),
    totalAmount: invoice.TotalAmount,
    totalAuthorizedAmount: invoice.TotalAuthorizedAmount,
    minimumAmountToPay: invoice.MinimumAmountToPay,
    invoiceDate: written(invoice.InvoiceDate),
    dueDate: written(invoice.DueDate),
    bankAccount: invoice.BankAccount,
    accountNumber: invoice.AccountNumber,
    aliasAccount: invoice.AliasAccount,
    receiver: invoice.Receiver,
    invoicingFirstName: invoice.InvoicingFirstName,
    invoicingLastName: invoice.InvoicingLastName,
    invoicingAddressLine1: invoice.InvoicingAddressLine1,
    invoicingAddressLine2: invoice.InvoicingAddressLine2,
    invoicingZip: invoice.InvoicingZip,
    invoicingCity: invoice.InvoicingCity,
    debitItems: invoice.DebitItems.map(itemBody),
    creditItems: invoice.CreditItems.map(itemBody),
  };
}

function itemBody({ Description, Notes, Amount, TaxCode, TaxAmount }: InvoiceItem): z.output<typeof itemSchema> {
  return { description: Description, notes: Notes, amount: Amount, taxCode: TaxCode, taxAmount: TaxAmount };
}

function written(time: LocalTime | null): string | null {
  return time?.text ?? null;
}
