/** A site as the poller needs it: its limits, and the calls that its client makes. */
import type { CheckoutClient } from '../../../checkout/client.ts';
import type { SiteSettings } from '../../../config/settings.ts';

/** Joins the two. */
export function polledSite(site: SiteSettings, client: CheckoutClient) {
  const { name, maxRps, concurrency, timeout, invoices } = site;
  const { pollStatus, pollInvoice, invoice, token } = client;
  return { name, maxRps, concurrency, timeout, invoices, pollStatus, pollInvoice, invoice, token };
}
