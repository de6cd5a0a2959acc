/** The invoice of a purchase as the service has it now: asked for when the page is, and stored nowhere. */
import type { InvoiceContentBody } from '../../../api/purchases/invoice-body.ts';
import { apart } from '../../../domain/values/counts.ts';
import type { JsonValue } from '../../../domain/values/exact-json.ts';
import { ApiRefusal, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import { page } from '../../frame/page-route.ts';
import { alertNote, factsPanel, nothingHere, panel, written } from '../../parts/lists.ts';
import { purchasePath, valueText } from '../../parts/purchases.ts';
import { when } from '../../parts/time.ts';

type Item = InvoiceContentBody['debitItems'][number];

export const invoicePage = page('/purchases/:site/:id/invoice', async ({ api, base, params, now }) => {
  const { site = '', id = '' } = params;
  const found = await api
    .get<InvoiceContentBody>(`/v1/purchases/${encodeURIComponent(id)}/invoice`, { site })
    .catch((error: unknown) => refusalIn(error, ({ code }) => code !== 'purchase_not_found'));
  const back = html`<a href="${base}${purchasePath({ site, purchaseId: id })}">${written(id)}</a>`;
  const isRefused = found instanceof ApiRefusal;
  const body = isRefused
    ? html`<div class="head"><h1 class="say">No invoice is shown</h1></div>${alertNote(html`<b>${found.title}.</b> <bdi>${found.message}</bdi>`)}`
    : html`<div class="head"><h1 class="say">${heading(found)}</h1><p class="sub">As the service has it now. It holds a person's name and address: it is stored nowhere here, and the log says that it was read.</p></div>
<div class="stack">${items('debit', 'Items', found.debitItems)}${found.creditItems.length !== 0 && items('credit', 'Credits', found.creditItems)}<div class="two even">${sums(found, now)}${customer(found)}</div></div>`;
  return {
    ...({ title: 'Invoice', place: 'purchases', body, isLive: false } as const),
    crumb: html`<a href="${base}/purchases">Purchases</a> / ${site} / ${back} / Invoice`,
    ...(isRefused && { status: found.status }),
  };
});

/** Digits as the service sent them. An invoice names no currency. */
const amount = (value: JsonValue): string => (value === null ? 'not known' : tied(apart(valueText(value))));

function heading({ totalAmount, dueDate }: InvoiceContentBody): string {
  return `Invoice of ${amount(totalAmount)}${dueDate === null ? '' : `, due ${day(dueDate)}`}`;
}

/** A date of the service's calendar is a day; its time is midnight. */
const day = (date: string | null): string => date?.replace(/T00:00:00(\.0+)?$/, '') ?? 'not known';

function items(id: string, title: string, all: readonly Item[]): Html {
  const row = ({ description, notes, amount: sum, taxAmount, taxCode }: Item): Html =>
    html`<tr><th scope="row">${written(description ?? 'not named')}${notes !== null && html`<small>${written(notes)}</small>`}</th><td class="num" data-l="amount">${amount(sum)}</td><td class="num" data-l="tax in it">${amount(taxAmount)}</td><td data-l="tax code">${taxCode === null ? html`<span class="mute">none</span>` : written(valueText(taxCode))}</td></tr>`;
  const body =
    all.length === 0
      ? nothingHere('The invoice names no item.')
      : html`<table class="cards"><thead><tr><th scope="col">What</th><th scope="col" class="num">Amount</th><th scope="col" class="num">Tax in it</th><th scope="col">Tax code</th></tr></thead><tbody>${all.map(row)}</tbody></table>`;
  return panel({ id, title, body });
}

function sums(invoice: InvoiceContentBody, now: number): Html {
  const { totalAmount, totalAuthorizedAmount, minimumAmountToPay, invoiceDate, dueDate, completed } = invoice;
  return factsPanel('sums', 'Sums and days', [
    ['Total', amount(totalAmount)],
    ['Authorized', amount(totalAuthorizedAmount)],
    ['Pay at least', amount(minimumAmountToPay)],
    ['Invoice date', day(invoiceDate)],
    ['Due', day(dueDate)],
    ['Completed', completed === null ? 'not known' : when(completed, now)],
  ]);
}

function customer(invoice: InvoiceContentBody): Html {
  const { invoicingFirstName: first, invoicingLastName: last, invoicingZip: zip, invoicingCity: city } = invoice;
  const { invoicingAddressLine1: one, invoicingAddressLine2: two, receiver, bankAccount, accountNumber, aliasAccount } = invoice;
  const joined = (parts: readonly (string | null)[], between: string): Html | string => {
    const there = parts.filter((part) => part !== null && part !== '');
    return there.length === 0 ? 'not known' : html`<bdi>${there.join(between)}</bdi>`;
  };
  const known = (text: string | null): Html | string => (text === null ? 'not known' : written(text));
  return factsPanel('customer', 'To and by whom', [
    ['To', joined([first, last], ' ')],
    ['Address', joined([one, two, [zip, city].filter((part) => part !== null).join(' ')], ', ')],
    ['Pay to', known(receiver)],
    ['Bank account', known(bankAccount)],
    ['Reference', known(accountNumber)],
    aliasAccount !== null && ['Reference of a double invoice', written(aliasAccount)],
  ]);
}
