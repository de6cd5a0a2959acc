/** Invoices: asked for now and handed through, or asked for by the purchase's owner and announced. Neither is stored here. */

import { z } from '@hono/zod-openapi';
import { invoiceBody } from '../../actions/purchases/invoice.ts';
import { type PurchaseRow, requestInvoice } from '../../actions/purchases/purchases.ts';
import type { InvoiceReply } from '../../checkout/invoice-details.ts';
import { COMPLETED } from '../../domain/deciding/invoice.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { Problem, PURCHASE_PROBLEMS } from '../http/problems.ts';
import { type Api, type ApiDeps, goneSignal, jsonAnswer, route } from '../http/route.ts';
import { findPurchase, onePurchase } from './find-purchase.ts';
import { invoiceSchema } from './invoice-body.ts';

export function mountInvoice(app: Api, { sql, changes, invoiceOf }: ApiDeps): void {
  app.openapi(readRoute, async (c) => {
    const row = await findPurchase(sql, { ...c.req.valid('param'), site: c.req.valid('query').site });
    const reply = await invoiceOf({ ...row, signal: goneSignal(c) });
    if (reply.kind !== 'invoice') throw whyNone(row, reply);
    return c.json(invoiceBody(row.site, reply.invoice), 200);
  });

  app.openapi(announceRoute, async (c) => {
    const row = await findPurchase(sql, { ...c.req.valid('param'), site: c.req.valid('query').site });
    const invoice = await requestInvoice(changes, row);
    const { purchaseId, site } = row;
    if (invoice === 'ready') return c.json({ purchaseId, site, invoice }, 200);
    if (invoice === 'wanted') return c.json({ purchaseId, site, invoice }, 202);
    throw notNow(row);
  });
}

function whyNone({ purchaseId, site }: PurchaseRow, reply: Exclude<InvoiceReply, { kind: 'invoice' }>): Problem {
  const later = (milliseconds: number | null): { headers: Record<string, string> } => ({
    headers: { 'retry-after': String(Math.max(1, Math.ceil((milliseconds ?? 0) / 1_000))) },
  });
  switch (reply.kind) {
    case 'not_completed':
      return new Problem('not_completed', `${quoted(purchaseId)} is in state ${stateText(reply.state)}. ${reply.detail}`);
    case 'not_eligible':
      return new Problem('no_invoice', `${quoted(purchaseId)} is in state ${stateText(reply.state)}. ${reply.detail}`);
    case 'unknown':
      return new Problem('no_invoice', `${quoted(purchaseId)} has no invoice. ${reply.detail}`);
    case 'unconfigured':
      return new Problem(
        'site_not_configured',
        `The site ${site} is not in the configuration any more, so its service cannot be asked.`,
      );
    case 'resting':
      return new Problem(
        'checkout_unavailable',
        `The service of the site ${site} gives no usable answer at the moment and is left alone for a while. Try again later.`,
        later(reply.retryAfter),
      );
    case 'busy':
      return new Problem(
        'checkout_busy',
        `There is no place among the calls that the site ${site} allows a second (maxRps). Try again in a moment.`,
        later(reply.retryAfter),
      );
    case 'throttled':
      return new Problem('checkout_busy', `${reply.detail} Try again later.`, later(reply.retryAfter));
    default:
      return new Problem('checkout_unavailable', reply.detail, reply.retryAfter === null ? {} : later(reply.retryAfter));
  }
}

/** Why an invoice cannot be announced. */
function notNow({ purchaseId, status, state }: PurchaseRow): Problem {
  if (status === 'stopped') {
    return new Problem(
      'not_watched',
      `${quoted(purchaseId)} is not watched any more, so nothing of it is announced. Register it again with POST /v1/purchases.`,
    );
  }
  const seen = state === null ? 'was not seen yet' : `was last seen in state ${stateText(state)}`;
  return new Problem(
    'not_completed',
    `${quoted(purchaseId)} ${seen}, and only those in state ${stateText(COMPLETED)} have an invoice. Ask again once it is completed.`,
  );
}

function stateText(state: number): string {
  const { value, name } = namedState(state);
  return `${name} (${value})`;
}

function quoted(purchaseId: string): string {
  return JSON.stringify(purchaseId);
}

const announcementSchema = (invoice: 'wanted' | 'ready') =>
  z.object({ purchaseId: z.string(), site: z.string(), invoice: z.literal(invoice) });

const readRoute = route('GET /v1/purchases/{id}/invoice', {
  isPersonal: true,
  summary: 'Read the invoice of a purchase',
  description:
    "Asks the service now and hands its answer through, with a person's name and address; nothing of it is stored. The call counts among those that the site allows a second.",
  ...onePurchase,
  answers: { 200: jsonAnswer('The invoice as the service has it now.', invoiceSchema) },
  problems: [...PURCHASE_PROBLEMS, 'not_completed', 'no_invoice', 'site_not_configured', 'checkout_unavailable', 'checkout_busy'],
});

const announceRoute = route('POST /v1/purchases/{id}/invoice', {
  summary: 'Have the invoice of a purchase announced',
  description:
    'Has the service asked for the invoice of a completed purchase; when there is one, subscribers get `purchase.invoice_ready`, once. For sites whose setting `invoices` is true that happens by itself.',
  ...onePurchase,
  answers: {
    200: jsonAnswer('It was announced before.', announcementSchema('ready')),
    202: jsonAnswer('It is asked for.', announcementSchema('wanted')),
  },
  problems: [...PURCHASE_PROBLEMS, 'not_completed', 'not_watched'],
});
