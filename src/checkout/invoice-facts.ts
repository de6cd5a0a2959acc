/** The only parts of an invoice that leave this process: its facts, and of its other fields those that an operator named. */

import type { InvoiceSeen } from '../domain/deciding/invoice-seen.ts';
import type { InvoiceFacts } from '../domain/events/system-event-types.ts';
import type { Details } from '../domain/purchases/purchase.ts';
import { cutJson, cutText } from '../domain/values/bounds.ts';
import type { JsonValue } from '../domain/values/exact-json.ts';
import { isoTimeOrNull } from '../domain/values/time.ts';
import { INVOICE_FIELDS, type Invoice, type InvoiceAnswer, type InvoiceItem } from './invoice-details.ts';
import type { LocalTime } from './local-time.ts';

/** Characters of what an item says. */
const LONGEST_OF_ITEM = 1_024;
/** A day of the calendar without a time, which the specification does not show and a service may send all the same. */
const DAY = /^\d{4}-\d\d-\d\d$/;

/** A function that reduces an answer for those who keep and send it; `fields` are names of any answer (store.fields). */
export function invoiceReducer(fields: readonly string[]): (answer: InvoiceAnswer) => InvoiceSeen {
  const named = INVOICE_FIELDS.filter((field) => fields.includes(field));
  return (answer) => {
    if (answer.kind === 'invoice') return { kind: 'invoice', facts: factsOf(answer.invoice, named) };
    if (answer.kind === 'not_completed' || answer.kind === 'not_eligible') return { kind: answer.kind, detail: answer.detail };
    return answer;
  };
}

function factsOf(invoice: Invoice, named: readonly (keyof Invoice)[]): InvoiceFacts {
  return {
    totalAmount: invoice.TotalAmount,
    totalAuthorizedAmount: invoice.TotalAuthorizedAmount,
    minimumAmountToPay: invoice.MinimumAmountToPay,
    invoiceDate: dateOf(invoice.InvoiceDate),
    dueDate: dateOf(invoice.DueDate),
    completed: isoTimeOrNull(invoice.Completed?.instant ?? null),
    debitItems: invoice.DebitItems.length,
    creditItems: invoice.CreditItems.length,
    ...(named.length === 0 ? {} : { details: detailsOf(invoice, named) }),
  };
}

/** Text that is no date may be anything, and is dropped. */
function dateOf(time: LocalTime | null): string | null {
  return time !== null && (time.instant !== null || DAY.test(time.text)) ? time.text : null;
}

function detailsOf(invoice: Invoice, named: readonly (keyof Invoice)[]): Details {
  const details = new Map<string, JsonValue>();
  for (const field of named) {
    const value = invoice[field];
    if (value !== null) details.set(field, keptOf(value));
  }
  return Object.fromEntries(details);
}

/** Items stay whole lists: what is left out of one would be missing money. */
function keptOf(value: NonNullable<Invoice[keyof Invoice]>): JsonValue {
  if (isTime(value)) return cutText(value.text);
  return Array.isArray(value) ? (value as readonly InvoiceItem[]).map(keptItem) : cutJson(value as JsonValue);
}

function keptItem({ Description, Notes, Amount, TaxCode, TaxAmount }: InvoiceItem): JsonValue {
  const [description, notes] = [Description, Notes].map((text) => (text === null ? null : cutText(text, LONGEST_OF_ITEM)));
  return { Description: description!, Notes: notes!, Amount, TaxCode: cutJson(TaxCode), TaxAmount };
}

function isTime(value: Invoice[keyof Invoice]): value is LocalTime {
  return typeof value === 'object' && value !== null && 'ambiguous' in value;
}
