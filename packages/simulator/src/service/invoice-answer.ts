/** The invoice details object, for completed purchases that are paid by invoice of some kind. */

import { PAYMENT_METHOD } from '../contract/names.ts';
import { customerOf } from '../purchases/customer.ts';
import type { Purchase } from '../purchases/purchase.ts';
import { type Amount, amountText, minus, parseAmount, percent, plus } from '../values/amounts.ts';
import { localDay, localTime } from '../values/local-time.ts';
import { STATE } from '../values/states.ts';
import { finestDigits } from './status-answer.ts';

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

const ELIGIBLE: readonly number[] = [
  PAYMENT_METHOD.invoice,
  PAYMENT_METHOD.loan,
  PAYMENT_METHOD['part-payment'],
  PAYMENT_METHOD['business-invoice'],
];

/** Whether there are invoice details: completed, and of a payment type that has an invoice. */
export function hasInvoice(purchase: Purchase): boolean {
  return purchase.state === STATE.Completed && ELIGIBLE.includes(purchase.paymentMethod);
}

/** The JSON of the invoice details of a purchase that has an invoice. */
export function invoiceText(purchase: Purchase): string {
  const { site } = purchase;
  const customer = customerOf(purchase.seed, site.country);
  const completedAt = purchase.completedAt ?? purchase.enteredAt;
  const total = parseAmount(purchase.price) ?? { units: 0n, places: 2 };
  // Every third customer used a voucher: it is a credit, and the items cost that much more.
  const voucher = purchase.number % 3 === 0 ? percent(total, 10) : null;
  const items = voucher === null ? total : plus(total, voucher);
  const shipping = percent(items, 5);
  return JSON.stringify({
    PurchaseId: purchase.id,
    State: purchase.state,
    InvoicingFirstName: customer.firstName,
    InvoicingLastName: customer.lastName,
    InvoicingAddressLine1: customer.addressLine1,
    InvoicingAddressLine2: customer.addressLine2,
    InvoicingZip: customer.zip,
    InvoicingCity: customer.city,
    Completed: localTime(completedAt, site.timeZone, finestDigits(purchase)),
    TotalAmount: rawJSON(purchase.price),
    TotalAuthorizedAmount: number(plus(total, percent(total, 10))),
    MinimumAmountToPay: number(percent(total, 20)),
    InvoiceDate: localDay(completedAt, site.timeZone, 0),
    DueDate: localDay(completedAt, site.timeZone, 30),
    BankAccount: '0000-0042',
    AccountNumber: customer.paymentReference,
    AliasAccount: null,
    Receiver: 'The Checkout Operator',
    DebitItems: [
      item(`Goods of order ${purchase.number}`, minus(items, shipping), 1, null),
      item('Shipping', shipping, null, 'Delivered to the door'),
    ],
    CreditItems: voucher === null ? [] : [item('Voucher', voucher, null, null)],
  });
}

/** An item with a tax of 25 % in its amount, that is a fifth of it. */
function item(description: string, amount: Amount, taxCode: number | null, notes: string | null): object {
  return {
    Description: description,
    Notes: notes,
    Amount: number(amount),
    TaxCode: taxCode,
    TaxAmount: number(percent(amount, 20)),
  };
}

function number(amount: Amount): unknown {
  return rawJSON(amountText(amount));
}
