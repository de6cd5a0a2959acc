/** The HTTP API for programs on Node: register, read, follow the feed. */
import { batchesOf, registrationText } from './batches.ts';
import type { BatchResult, Invoice, Purchase, PurchaseStatus, PurchaseWithTransitions, Registration } from './contract.ts';
import { type EventPage, type FollowOptions, follow } from './feed.ts';
import { type ApiAnswer, createCaller } from './http.ts';
import { invoiceOf } from './invoice.ts';
import type { JsonObject } from './json.ts';
import { ApiProblem } from './problem.ts';
import { purchaseOf } from './purchase.ts';

export interface PurchaseWatchClientConfig {
  /** Where purchase-watch listens, such as `http://127.0.0.1:8080`. */
  readonly baseUrl: string;
  /** `API_KEY` of the daemon; `API_READ_KEY` is enough for reading. None is needed on its own machine when it has none. */
  readonly apiKey?: string | undefined;
  /** Milliseconds for one call; 30 000. */
  readonly timeout?: number | undefined;
}

/** Which purchase, and when to stop waiting for an answer. */
export interface CallOptions {
  /** Needed only where several sites have this id. */
  readonly site?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WatchResult {
  /** False when it was registered before: nothing has changed then. */
  readonly created: boolean;
  readonly purchase: Purchase;
}

/** `index` counts from 0 over all that was given. */
export type WatchManyResult = BatchResult;

/** All that are given must hold. */
export interface ListFilter {
  readonly state?: string | number | undefined;
  readonly status?: PurchaseStatus | undefined;
  readonly stuck?: boolean | undefined;
  readonly site?: string | undefined;
  readonly reference?: string | undefined;
  /** Entries per call, 500 at most; how many the loop brings does not change. */
  readonly pageSize?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type PollResult =
  | { readonly polled: true; readonly purchase: Purchase }
  /** `note` says why there is no result yet; the purchase stays due. */
  | { readonly polled: false; readonly purchase: Purchase; readonly note: string };

/** Every method rejects with ApiProblem, or with the reason of an aborted signal. All may be called again after a failure. */
export interface PurchaseWatchClient {
  /** Watches a purchase. Safe to repeat. */
  watch(registration: Registration | string, options?: { readonly signal?: AbortSignal | undefined }): Promise<WatchResult>;
  /**
   * Watches any number, in calls of up to 1 000, one after the other. A registration that is refused is reported; it never ends the
   * rest. When a call fails, the problem says up to where all are registered; the same list may be given again.
   */
  watchMany(
    registrations: Iterable<Registration | string> | AsyncIterable<Registration | string>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<WatchManyResult>;
  get(purchaseId: string, options?: CallOptions): Promise<PurchaseWithTransitions>;
  /** Newest registration first; pages are fetched as the loop gets there. */
  list(filter?: ListFilter): AsyncGenerator<Purchase, void, undefined>;
  /** Ends the polls of a purchase; its record stays. */
  stop(purchaseId: string, options?: CallOptions): Promise<void>;
  /** Polls now. Waits for the result up to `wait` milliseconds, 30 000 at most; 5 000 by default. */
  poll(purchaseId: string, options?: CallOptions & { readonly wait?: number | undefined }): Promise<PollResult>;
  /** The customer's invoice, asked of the checkout service now. */
  invoice(purchaseId: string, options?: CallOptions): Promise<Invoice>;
  /** Has `purchase.invoice_ready` announced of a completed purchase that has an invoice; `ready` when it was before. */
  announceInvoice(purchaseId: string, options?: CallOptions): Promise<'wanted' | 'ready'>;
  /** The event feed, page by page, waiting for more at its end. */
  events(options?: FollowOptions): AsyncGenerator<EventPage, void, undefined>;
}

const TIMEOUT = 30_000;
const POLL_WAIT = 5_000;
const PAGE = 500;

/** A client of one purchase-watch. It holds nothing that must be closed. */
export function createPurchaseWatchClient(config: PurchaseWatchClientConfig): PurchaseWatchClient {
  const { baseUrl, apiKey, timeout = TIMEOUT } = config;
  const call = createCaller({ baseUrl, apiKey, timeout });
  const at = (purchaseId: string, more = ''): string => `/v1/purchases/${pathPart(purchaseId)}${more}`;

  return {
    async watch(registration, { signal } = {}) {
      const body = registrationText(registration);
      const answer = await call({ method: 'POST', path: '/v1/purchases', body, signal });
      return { created: answer.status === 201, purchase: purchaseOf(answer.body) };
    },

    async watchMany(registrations, { signal } = {}) {
      const total = { created: 0, existing: 0, rejected: [] as WatchManyResult['rejected'][number][] };
      for await (const { body, from } of batchesOf(registrations)) {
        const answer = await call({ method: 'POST', path: '/v1/purchases/batch', body, signal }).catch((error: unknown) => {
          throw error instanceof ApiProblem && from > 0 ? brokenOff(error, from, total) : error;
        });
        const { created, existing, rejected } = answer.body as unknown as WatchManyResult;
        total.created += created;
        total.existing += existing;
        for (const each of rejected) total.rejected.push({ ...each, index: from + each.index });
      }
      return total;
    },

    async get(purchaseId, { site, signal } = {}) {
      const { body } = await call({ method: 'GET', path: at(purchaseId), query: { site }, signal });
      return purchaseOf<PurchaseWithTransitions>(body);
    },

    async *list({ pageSize = PAGE, signal, ...filter } = {}) {
      let cursor: string | null = null;
      do {
        const { body }: ApiAnswer = await call({
          method: 'GET',
          path: '/v1/purchases',
          query: { ...filter, limit: pageSize, cursor },
          signal,
        });
        for (const each of body.data as readonly JsonObject[]) yield purchaseOf(each);
        cursor = body.nextCursor as string | null;
      } while (cursor !== null);
    },

    async stop(purchaseId, { site, signal } = {}) {
      await call({ method: 'DELETE', path: at(purchaseId), query: { site }, signal });
    },

    async poll(purchaseId, { site, signal, wait = POLL_WAIT } = {}) {
      const query = { site, wait: `${Math.round(wait)}ms` };
      const answer = await call({ method: 'POST', path: at(purchaseId, '/poll'), query, signal, timeout: timeout + wait });
      const { note, ...body } = answer.body;
      const purchase = purchaseOf(body);
      return answer.status === 200 ? { polled: true, purchase } : { polled: false, purchase, note: String(note) };
    },

    async invoice(purchaseId, { site, signal } = {}) {
      const { body } = await call({ method: 'GET', path: at(purchaseId, '/invoice'), query: { site }, signal });
      return invoiceOf(body);
    },

    async announceInvoice(purchaseId, { site, signal } = {}) {
      const { body } = await call({ method: 'POST', path: at(purchaseId, '/invoice'), query: { site }, signal });
      return body.invoice as 'wanted' | 'ready';
    },

    events: (options = {}) => follow(call, options),
  };
}

function brokenOff(error: ApiProblem, from: number, done: WatchManyResult): ApiProblem {
  const detail = `the first ${from} were taken, the others perhaps not (all may be given again): ${error.detail}`;
  return new ApiProblem({ ...error, detail, done }, { cause: error });
}

/** An id within a path. Two names mean folders there, and an address holds no half characters: neither is ever an id. */
function pathPart(purchaseId: string): string {
  if (purchaseId === '' || purchaseId === '.' || purchaseId === '..')
    throw new TypeError(`${JSON.stringify(purchaseId)} is no Purchase ID`);
  return encodeURIComponent(purchaseId.toWellFormed());
}
