/** Invoices: as the API shows them, and as the checkout service itself does. */

import type { Invoice, State } from './contract.ts';
import { type Decimal, decimalText, type JsonObject, type JsonValue } from './json.ts';
import type { LocalTime } from './local-time.ts';

/** An item by the specification's names. */
export interface CheckoutInvoiceItem {
  readonly Description: string | null;
  readonly Notes: string | null;
  readonly Amount: Decimal | null;
  readonly TaxCode: JsonValue;
  readonly TaxAmount: Decimal | null;
}

/** An invoice by the specification's names. Personal data is among it. */
export interface CheckoutInvoice {
  readonly PurchaseId: string;
  readonly State: State;
  readonly InvoicingFirstName: string | null;
  readonly InvoicingLastName: string | null;
  readonly InvoicingAddressLine1: string | null;
  readonly InvoicingAddressLine2: string | null;
  readonly InvoicingZip: string | null;
  readonly InvoicingCity: string | null;
  readonly Completed: LocalTime | null;
  readonly TotalAmount: Decimal | null;
  readonly TotalAuthorizedAmount: Decimal | null;
  readonly MinimumAmountToPay: Decimal | null;
  readonly InvoiceDate: LocalTime | null;
  readonly DueDate: LocalTime | null;
  readonly BankAccount: string | null;
  readonly AccountNumber: string | null;
  readonly AliasAccount: string | null;
  readonly Receiver: string | null;
  readonly DebitItems: readonly CheckoutInvoiceItem[];
  readonly CreditItems: readonly CheckoutInvoiceItem[];
}

/** A parsed body of the API as an invoice, its amounts as text. */
export function invoiceOf(body: JsonObject): Invoice {
  const items = (list: JsonValue | undefined): unknown =>
    (list as readonly JsonObject[]).map((item) => withText(item, ['amount', 'taxAmount']));
  return {
    ...withText(body, ['totalAmount', 'totalAuthorizedAmount', 'minimumAmountToPay']),
    debitItems: items(body.debitItems),
    creditItems: items(body.creditItems),
  } as unknown as Invoice;
}

/** The same object with these amounts as text. */
export function withText(body: JsonObject, names: readonly string[]): { [key: string]: unknown } {
  return { ...body, ...Object.fromEntries(names.map((name) => [name, decimalText(body[name])])) };
}
