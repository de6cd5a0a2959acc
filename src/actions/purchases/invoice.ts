/** An invoice as programs see it, in the API and in the command's JSON. */
import type { Invoice, InvoiceItem } from '../../checkout/invoice-details.ts';
import type { LocalTime } from '../../checkout/local-time.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { isoTimeOrNull } from '../../domain/values/time.ts';

export function invoiceBody(site: string, invoice: Invoice) {
  return {
    purchaseId: invoice.PurchaseId,
    site,
    state: namedState(invoice.State),
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

function itemBody({ Description, Notes, Amount, TaxCode, TaxAmount }: InvoiceItem) {
  return { description: Description, notes: Notes, amount: Amount, taxCode: TaxCode, taxAmount: TaxAmount };
}

function written(time: LocalTime | null): string | null {
  return time?.text ?? null;
}
