/** The client of one site: sends, renews the token once when it must, and answers in the words of core. Never rejects. */

import { hash } from 'node:crypto';
import type { InvoiceSeen } from '../domain/deciding/invoice-seen.ts';
import { type Details, DIGEST_LENGTH, type Observation } from '../domain/purchases/purchase.ts';
import { AppError } from '../domain/values/errors.ts';
import { type JsonValue, parseExact, stringifyExact } from '../domain/values/exact-json.ts';
import type { Instant, Milliseconds } from '../domain/values/time.ts';
import type { Way } from '../domain/values/way.ts';
import { monotonic, wall } from '../runtime/time.ts';
import type { RequestTrace } from '../runtime/traces/traces.ts';
import { authorizedCalls } from './authorized.ts';
import type { Reply } from './call.ts';
import { INVOICE_DETAILS_PATH, INVOICE_FIELDS, type InvoiceAnswer, noInvoice, readInvoice } from './invoice-details.ts';
import { invoiceReducer } from './invoice-facts.ts';
import { type LocalTime, localTimeReader } from './local-time.ts';
import {
  detailsReader,
  fullStatus,
  isStatusField,
  isTrouble,
  PAYMENT_STATUS_PATH,
  type PaymentStatus,
  purchaseRequest,
  readPaymentStatus,
} from './payment-status.ts';
import { basicAccess, oauthAccess } from './token.ts';
import { createTransport } from './transport.ts';
import { readJson, type TroubleObservation, trouble } from './trouble.ts';

/** One merchant account at the checkout service. */
export interface CheckoutSite {
  readonly name: string;
  /** http or https; a path in it is kept in front of every operation. */
  readonly baseUrl: string;
  readonly auth: 'oauth2' | 'basic';
  readonly clientId: string;
  readonly clientSecret: string;
  /** IANA name, for the service's local date-times. */
  readonly timeZone: string;
  /** Calls on their way at once; more wait their turn here. */
  readonly concurrency: number;
  /** For one call: connecting, headers and body together. */
  readonly timeout: Milliseconds;
  /** Of every call, also of those that get a token; directly unless given. */
  readonly way?: Way;
}

interface CheckoutClientOptions {
  /** Decides when a token is renewed. Deadlines of calls use the process' own clock: sockets do not wait for a test's. */
  readonly clock?: { now(): Instant; monotonic(): Milliseconds };
  /**
   * Fields of the purchase status and of the invoice that are kept (store.fields); nothing else of an answer leaves
   * `pollStatus`, and `pollInvoice` only adds the facts that all receivers get.
   */
  readonly fields: readonly string[];
  /** Of one answer; 256 KiB by default. */
  readonly maxBytes?: number;
  /** Called with every complete answer to an operation, good or not: for a check of a site. */
  readonly onReply?: (reply: Pick<Reply, 'status' | 'headers'>) => void;
}

/** The status as the service has it now; `times` are its four date-times as instants of the site's zone. */
interface PaymentStatusAnswer {
  readonly kind: 'answer';
  readonly status: PaymentStatus;
  readonly times: { readonly [F in 'Created' | 'BeingProcessed' | 'Completed' | 'Cancelled']: LocalTime | null };
}

/** The answer of `GET /authorization/<id>`; the specification does not show its shape, so it is any JSON. */
interface AuthorizationAnswer {
  readonly kind: 'answer';
  readonly httpStatus: number;
  readonly body: JsonValue;
}

export type CheckoutClient = ReturnType<typeof createCheckoutClient>;

/** An invoice of a thousand items is smaller, and a status a hundredth of it. */
const MAX_BYTES = 256 * 1024;
const SAME: Observation = { kind: 'same' };

/**
 * No method rejects. A method ends within twice the site's timeout after a connection is free for it: one for getting a
 * token, one for the call with everything that follows (`invoiceDetails` may make two such calls). Throws AppError `configuration`
 * for a base address, time zone or field name that cannot be right.
 */
export function createCheckoutClient(site: CheckoutSite, options: CheckoutClientOptions) {
  const clock = options.clock ?? { now: wall, monotonic };
  const baseUrl = readBaseUrl(site);
  const localTime = localTimeReader(site.timeZone);
  const readDetails = detailsReader(options.fields.filter((name) => isStatusField(name) || !isInvoiceField(name)));
  const reduceInvoice = invoiceReducer(options.fields);
  const limits = { baseUrl, way: site.way, timeout: site.timeout, maxBytes: options.maxBytes ?? MAX_BYTES };
  const calls = createTransport({ ...limits, connections: site.concurrency });
  const tokens = createTransport({ ...limits, connections: 1 });
  const { clientId, clientSecret } = site;
  const access =
    site.auth === 'basic'
      ? basicAccess(clientId, clientSecret)
      : oauthAccess({ baseUrl, clientId, clientSecret, transport: tokens, clock });
  const ask = authorizedCalls({ transport: calls, access, clock, onReply: options.onReply });

  async function askStatus<T>(
    purchaseId: string,
    use: (status: Exclude<ReturnType<typeof readPaymentStatus>, TroubleObservation>, text: string) => T,
  ): Promise<T | TroubleObservation> {
    const reply = await ask('POST', PAYMENT_STATUS_PATH, purchaseRequest(purchaseId));
    if (isTrouble(reply)) return reply;
    const read = readStatus(purchaseId, reply);
    return isTrouble(read) ? read : use(read.wire, read.text);
  }

  async function askInvoice(purchaseId: string, trace?: RequestTrace): Promise<InvoiceAnswer> {
    const reply = await ask('POST', INVOICE_DETAILS_PATH, purchaseRequest(purchaseId), trace);
    if (isTrouble(reply)) return asNoInvoice(reply);
    const json = readJson(reply);
    return isTrouble(json) ? json : asNoInvoice(readInvoice(purchaseId, json, reply, localTime));
  }

  return {
    /**
     * `known` is the digest of the last good answer about this purchase, or null: the same answer again is only reported as the same.
     * `trace`: where the spans of its requests belong.
     */
    async pollStatus(purchaseId: string, known?: string | null, trace?: RequestTrace): Promise<Observation> {
      const reply = await ask('POST', PAYMENT_STATUS_PATH, purchaseRequest(purchaseId), trace);
      if (isTrouble(reply)) return reply;
      // Most answers repeat the one before; recognising that costs a fraction of reading it.
      const digest = hash('sha1', reply.body, 'base64');
      if (digest === known) return SAME;
      const read = readStatus(purchaseId, reply);
      if (isTrouble(read)) return read;
      const details = readDetails(read.wire, read.text, reply);
      if (isTrouble(details)) return details;
      return { kind: 'seen', state: read.wire.State, details, detailsDigest: digestOfDetails(details), digest };
    },

    /** Everything the service knows about the purchase, personal data too: for people who ask, never for the store. */
    paymentStatus: (purchaseId: string): Promise<PaymentStatusAnswer | TroubleObservation> =>
      askStatus(purchaseId, (wire, text) => {
        const status = fullStatus(wire, text);
        return { kind: 'answer', status, times: timesOf(status, localTime) };
      }),

    /** The whole invoice, for people who ask. Where there is none, a second call finds out why. */
    async invoiceDetails(purchaseId: string): Promise<InvoiceAnswer> {
      const answer = await askInvoice(purchaseId);
      // The specification shows no answer for a missing invoice; the status of the purchase says why there is none.
      return answer.kind === 'unknown' ? askStatus<InvoiceAnswer>(purchaseId, (status) => noInvoice(status.State)) : answer;
    },
    /** The same in one call: without an invoice, `unknown` may be all that is known. */
    invoice: (purchaseId: string) => askInvoice(purchaseId),
    /** Also in one call, reduced to what may be kept and sent. */
    pollInvoice: async (purchaseId: string, trace?: RequestTrace): Promise<InvoiceSeen> =>
      reduceInvoice(await askInvoice(purchaseId, trace)),

    async authorization(id: string): Promise<AuthorizationAnswer | TroubleObservation> {
      const reply = await ask('GET', `/authorization/${encodeURIComponent(id.toWellFormed())}`, null);
      if (isTrouble(reply)) return reply;
      const json = readJson(reply);
      if (isTrouble(json)) return json;
      try {
        return { kind: 'answer', httpStatus: reply.status, body: parseExact(json.text) };
      } catch {
        return trouble('malformed', 'too_deep', 'The answer is nested too deep to be used.', reply);
      }
    },

    /** When the access token was fetched, ends and was refused; null where credentials go with each call. */
    token: access.token,

    /** Breaks off what is on its way (`unreachable`, reason `stopped`) and closes the connections. */
    async close(): Promise<void> {
      await Promise.all([calls.close(), tokens.close()]);
    },
  };
}

/** Computed for each answer that is new to memory; the store computes the same of the text that it keeps. */
export function digestOfDetails(details: Details): string {
  return hash('sha256', stringifyExact(details), 'base64').slice(0, DIGEST_LENGTH);
}

/** How the service says "no invoice" is not shown: a list of errors, 400 and 422 are taken for that. */
function asNoInvoice<T extends InvoiceAnswer>(answer: T): InvoiceAnswer {
  const isRefusal = answer.kind === 'malformed' && ['error_list', 'http_400', 'http_422'].includes(answer.reason);
  return isRefusal ? { ...answer, kind: 'unknown' } : answer;
}

function isInvoiceField(name: string): boolean {
  return (INVOICE_FIELDS as string[]).includes(name);
}

function readStatus(purchaseId: string, reply: Reply) {
  const json = readJson(reply);
  if (isTrouble(json)) return json;
  const wire = readPaymentStatus(purchaseId, json, reply);
  return isTrouble(wire) ? wire : { wire, text: json.text };
}

function timesOf(
  { Created, BeingProcessed, Completed, Cancelled }: PaymentStatus,
  localTime: ReturnType<typeof localTimeReader>,
): PaymentStatusAnswer['times'] {
  return {
    Created: localTime(Created),
    BeingProcessed: localTime(BeingProcessed),
    Completed: localTime(Completed),
    Cancelled: localTime(Cancelled),
  };
}

function readBaseUrl(site: CheckoutSite): URL {
  const url = URL.parse(site.baseUrl);
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new AppError('configuration', `Site ${site.name}: the base address must be a complete http or https address.`);
}
