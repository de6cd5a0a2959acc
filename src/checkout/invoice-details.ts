/** GetInvoiceDetails: from the answer's text to an invoice, to the reason why there is none, or to what went wrong. */

import { z } from 'zod';
import { COMPLETED } from '../domain/deciding/invoice.ts';
import { isAmount } from '../domain/values/bounds.ts';
import { type Decimal, type JsonValue, parseExact } from '../domain/values/exact-json.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { JsonReply } from './answer-text.ts';
import type { Reply } from './call.ts';
import type { LocalTime, localTimeReader } from './local-time.ts';
import { asDecimal, isSamePurchase, outOfBounds, wrongPurchase, wrongShape } from './payment-status.ts';
import { type TroubleObservation, trouble } from './trouble.ts';

export const INVOICE_DETAILS_PATH = '/CheckOut2Api/GetInvoiceDetails';

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? null);
// Amounts are checked as numbers here and taken from the exact parse afterwards.
const amount = z.number().nullish();

const itemSchema = z.object({
  Description: text,
  Notes: text,
  Amount: amount,
  // The specification does not show the type of this field, so whatever JSON comes is kept.
  TaxCode: z.unknown().optional(),
  TaxAmount: amount,
});

const invoiceSchema = z.object({
  // The specification's table says PurchaseID and its example PurchaseId.
  PurchaseId: z.string().optional(),
  PurchaseID: z.string().optional(),
  State: z.int32(),
  InvoicingFirstName: text,
  InvoicingLastName: text,
  InvoicingAddressLine1: text,
  InvoicingAddressLine2: text,
  InvoicingZip: text,
  InvoicingCity: text,
  Completed: text,
  TotalAmount: amount,
  TotalAuthorizedAmount: amount,
  MinimumAmountToPay: amount,
  InvoiceDate: text,
  DueDate: text,
  BankAccount: text,
  AccountNumber: text,
  AliasAccount: text,
  Receiver: text,
  DebitItems: z.array(itemSchema).nullish(),
  CreditItems: z.array(itemSchema).nullish(),
});

/** Items in a list, at most. */
const MOST_ITEMS = 1_000;

/** The names of an invoice's fields. */
export const INVOICE_FIELDS = Object.keys(invoiceSchema.shape).filter((name) => name !== 'PurchaseID') as (keyof Invoice)[];

type WireInvoice = z.infer<typeof invoiceSchema>;
type WireItem = z.infer<typeof itemSchema>;
type InvoiceAmount = 'TotalAmount' | 'TotalAuthorizedAmount' | 'MinimumAmountToPay';
type InvoiceTime = 'Completed' | 'InvoiceDate' | 'DueDate';

export type InvoiceItem = Pick<WireItem, 'Description' | 'Notes'> & {
  readonly Amount: Decimal | null;
  readonly TaxCode: JsonValue;
  readonly TaxAmount: Decimal | null;
};

/** The invoice by the specification's field names; amounts keep their digits, times are instants beside their text. */
export type Invoice = Omit<
  WireInvoice,
  'PurchaseID' | 'PurchaseId' | 'DebitItems' | 'CreditItems' | InvoiceAmount | InvoiceTime
> & {
  readonly [F in InvoiceAmount]: Decimal | null;
} & { readonly [F in InvoiceTime]: LocalTime | null } & {
  readonly PurchaseId: string;
  readonly DebitItems: readonly InvoiceItem[];
  readonly CreditItems: readonly InvoiceItem[];
};

export type InvoiceAnswer =
  | { readonly kind: 'invoice'; readonly invoice: Invoice }
  /** The purchase is not completed (yet, or any more), so it has no invoice. */
  | { readonly kind: 'not_completed'; readonly state: number; readonly detail: string }
  /** The purchase is completed, and the service has no invoice values for it. */
  | { readonly kind: 'not_eligible'; readonly state: number; readonly detail: string }
  | TroubleObservation;

/** The answer to a caller who asks through a daemon, which keeps to its part of the site's calls. */
export type InvoiceReply =
  | InvoiceAnswer
  /** The service was not asked. `resting`: it fails, or asked for fewer calls. `busy`: there was no place among its calls in time. */
  | { readonly kind: 'unconfigured' | 'resting' | 'busy'; readonly retryAfter: Milliseconds };

/** Reads a 2xx answer. What decides is whether it holds values: how the service says "no invoice" is not shown. */
export function readInvoice(
  purchaseId: string,
  answer: JsonReply,
  reply: Reply,
  localTime: ReturnType<typeof localTimeReader>,
): InvoiceAnswer {
  const checked = invoiceSchema.safeParse(answer.value);
  if (!checked.success) return wrongShape(answer.value, checked.error, reply);
  const { PurchaseId, PurchaseID, ...wire } = checked.data;
  if (!isSamePurchase(purchaseId, PurchaseId ?? PurchaseID ?? '')) return wrongPurchase(reply);
  if ((wire.TotalAmount ?? null) === null && (wire.DebitItems ?? []).length === 0) return noInvoice(wire.State);
  let exact: Exact;
  try {
    exact = parseExact(answer.text) as Exact;
  } catch {
    return trouble('malformed', 'too_deep', 'The answer is nested deeper than any invoice, so it was not used.', reply);
  }
  const times = {
    Completed: localTime(wire.Completed),
    InvoiceDate: localTime(wire.InvoiceDate),
    DueDate: localTime(wire.DueDate),
  };
  const invoice = {
    ...wire,
    ...times,
    PurchaseId: purchaseId,
    TotalAmount: exactly(exact.TotalAmount),
    TotalAuthorizedAmount: exactly(exact.TotalAuthorizedAmount),
    MinimumAmountToPay: exactly(exact.MinimumAmountToPay),
    DebitItems: items(wire.DebitItems, exact.DebitItems),
    CreditItems: items(wire.CreditItems, exact.CreditItems),
  };
  const odd = fieldOutOfBounds(invoice);
  return odd === null ? { kind: 'invoice', invoice } : outOfBounds(odd, reply);
}

/** The first field with an amount that can be none, or with more items than an invoice has; null: there is none. */
function fieldOutOfBounds(invoice: Invoice): string | null {
  for (const field of ['TotalAmount', 'TotalAuthorizedAmount', 'MinimumAmountToPay'] as const) {
    const amount = invoice[field];
    if (amount !== null && !isAmount(amount)) return field;
  }
  for (const field of ['DebitItems', 'CreditItems'] as const) {
    if (invoice[field].length > MOST_ITEMS) return field;
    const amounts = invoice[field].flatMap(({ Amount, TaxAmount }) => [Amount, TaxAmount]);
    if (amounts.some((amount) => amount !== null && !isAmount(amount))) return field;
  }
  return null;
}

/** Why a purchase in this state has no invoice. */
export function noInvoice(state: number): InvoiceAnswer {
  if (state !== COMPLETED) {
    return {
      kind: 'not_completed',
      state,
      detail: 'The purchase is not in state Completed, and only completed purchases have an invoice.',
    };
  }
  const detail =
    'The service has no invoice for this completed purchase. Only Invoice, Loan, Part Payment and Direct invoice have one.';
  return { kind: 'not_eligible', state, detail };
}

type Exact = { readonly [key: string]: JsonValue };

function exactly(value: JsonValue | undefined): Decimal | null {
  return value === null || value === undefined ? null : asDecimal(value);
}

function items(wire: readonly WireItem[] | null | undefined, exact: JsonValue | undefined): InvoiceItem[] {
  return (wire ?? []).map((item, index) => {
    const same = (exact as readonly Exact[])[index]!;
    const { Description, Notes } = item;
    return {
      Description,
      Notes,
      Amount: exactly(same.Amount),
      TaxCode: same.TaxCode ?? null,
      TaxAmount: exactly(same.TaxAmount),
    };
  });
}
