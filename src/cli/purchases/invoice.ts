/** `invoice`: asks the checkout service for the invoice of a purchase. */

import { invoiceBody } from '../../actions/purchases/invoice.ts';
import { findPurchases } from '../../actions/purchases/purchases.ts';
import { createCheckoutClient } from '../../checkout/client.ts';
import type { Invoice, InvoiceAnswer, InvoiceItem } from '../../checkout/invoice-details.ts';
import type { LocalTime } from '../../checkout/local-time.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings, SiteSettings } from '../../config/settings.ts';
import { wayToSite } from '../../config/ways.ts';
import { stateBoth, statePlace } from '../../domain/purchases/states.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Decimal } from '../../domain/values/exact-json.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printFacts, printJson, printLine, styled } from '../terminal/output.ts';
import { knownSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

export const register = declare(
  {
    description:
      'Asks the checkout service for the invoice of a completed purchase, once and now, and shows all of it: with a name and an address. Nothing is stored, and the purchase need not be registered.',
    arguments: [['<id>', 'its Purchase ID']],
    options: [
      ['--site <name>', 'the site to ask, when there are several'],
      ['--json', 'write JSON, as the API does'],
    ],
    examples: [
      ['invoice 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'ask and show'],
      ['invoice 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11 --json | jq .totalAmount', 'for programs'],
    ],
  },
  async (context, { id: purchaseId, site: wanted, json }) => {
    const settings = loadSettings(context.env, { requireSite: true });
    const site = await siteOf(context, settings, { purchaseId, wanted });
    const client = createCheckoutClient({ ...site, way: wayToSite(site, settings) }, { fields: [] });
    try {
      const answer = await client.invoiceDetails(purchaseId);
      if (answer.kind !== 'invoice') throw whyNone(purchaseId, site, answer);
      if (json) printJson(context, invoiceBody(site.name, answer.invoice));
      else printInvoice(context, site.name, answer.invoice);
    } finally {
      await client.close();
    }
  },
);

/** The site to ask: the one named, the only one, the one named `default`, or the one where the purchase is registered. */
async function siteOf(
  context: CliContext,
  { sites }: Settings,
  { purchaseId, wanted }: { purchaseId: string; wanted: string | undefined },
): Promise<SiteSettings> {
  const names = sites.map(({ name }) => name);
  const named = (name: string): SiteSettings => sites.find((site) => site.name === name)!;
  if (wanted !== undefined) return named(knownSite(wanted, names));
  if (names.length === 1) return sites[0]!;
  if (names.includes('default')) return named('default');
  const registered = await registeredAt(context, purchaseId);
  const [at] = registered.filter((name) => names.includes(name));
  if (at !== undefined && registered.length === 1) return named(at);
  const why = registered.length === 0 ? 'is not registered' : `is registered at ${registered.join(', ')}`;
  throw new AppError('invalid', `${JSON.stringify(purchaseId)} ${why}: choose the site to ask with --site (${names.join(', ')})`);
}

/** Without a database nothing is registered: then the site has to be named. */
async function registeredAt(context: CliContext, purchaseId: string): Promise<string[]> {
  try {
    return await withDatabase(context, async ({ sql }) =>
      (await findPurchases(sql, { purchaseId, site: null })).map((row) => row.site),
    );
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return [];
    throw error;
  }
}

function whyNone(purchaseId: string, site: SiteSettings, answer: Exclude<InvoiceAnswer, { kind: 'invoice' }>): AppError {
  const id = JSON.stringify(purchaseId);
  switch (answer.kind) {
    case 'not_completed':
      return new AppError('conflict', `${id} is ${statePlace(answer.state)}. ${answer.detail}`);
    case 'not_eligible':
      return new AppError('not_found', `${id} is completed and has no invoice. ${answer.detail}`);
    case 'unknown':
      return new AppError('not_found', `${id} is not known at site ${site.name}. ${answer.detail}`);
    default:
      return new AppError('unavailable', `site ${site.name} was asked in vain. ${answer.detail}`);
  }
}

function printInvoice(context: CliContext, site: string, shown: Invoice): void {
  const name = [shown.InvoicingFirstName, shown.InvoicingLastName].filter((part) => part !== null).join(' ');
  const address = [
    shown.InvoicingAddressLine1,
    shown.InvoicingAddressLine2,
    [shown.InvoicingZip, shown.InvoicingCity].filter((part) => part !== null).join(' '),
  ].filter((part) => part !== null && part !== '');
  printFacts(context, [
    ['purchase', shown.PurchaseId],
    ['site', site],
    ['state', stateBoth(shown.State)],
    ['completed', moment(shown.Completed)],
    ['total', digits(shown.TotalAmount), 'bold'],
    ['authorized', digits(shown.TotalAuthorizedAmount)],
    ['pay at least', digits(shown.MinimumAmountToPay)],
    ['invoice date', day(shown.InvoiceDate)],
    ['due', day(shown.DueDate)],
    ['to', name === '' ? null : name],
    ['address', address.length === 0 ? null : address.join(', ')],
    ['pay to', shown.Receiver],
    ['bank account', shown.BankAccount],
    ['reference', shown.AccountNumber],
    ['reference of a double invoice', shown.AliasAccount],
  ]);
  printItems(context, 'Items', shown.DebitItems);
  printItems(context, 'Credits', shown.CreditItems);
}

function printItems(context: CliContext, title: string, items: readonly InvoiceItem[]): void {
  if (items.length === 0) return;
  printLine(context);
  printLine(context, styled(context, 'bold', title));
  // Amounts stay texts, for a number of JavaScript would lose digits; so they are brought below each other here.
  const aligned = (amountOf: (item: InvoiceItem) => Decimal | null) => {
    const width = Math.max(...items.map((item) => digits(amountOf(item))?.length ?? 1));
    return (item: InvoiceItem) => (digits(amountOf(item)) ?? '-').padStart(width);
  };
  printTable(context, items, {
    description: ({ Description }) => Description,
    notes: ({ Notes }) => Notes,
    amount: aligned(({ Amount }) => Amount),
    'tax in it': aligned(({ TaxAmount }) => TaxAmount),
    'tax code': ({ TaxCode }) => (TaxCode === null ? null : JSON.stringify(TaxCode)),
  });
}

function digits(amount: Decimal | null): string | null {
  return amount?.rawJSON ?? null;
}

/** A date of the service's calendar is a day; its time is midnight. */
function day(time: LocalTime | null): string | null {
  return time?.text.replace(/T00:00:00(\.0+)?$/, '') ?? null;
}

function moment(time: LocalTime | null): string | null {
  if (time === null) return null;
  return time.instant === null ? time.text : `${new Date(time.instant).toISOString()} (${time.text} there)`;
}
