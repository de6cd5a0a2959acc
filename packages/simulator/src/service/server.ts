/** The service's side of the specification: the token, the operations, their errors. Plain node:http, for speed. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '../contract/names.ts';
import type { Purchase } from '../purchases/purchase.ts';
import type { Purchases } from '../purchases/purchases.ts';
import { type Answer, type Call, errorAnswer } from '../values/call.ts';
import type { Access } from './access.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults.ts';
import { send, sendFaulty } from './faulty-answers.ts';
import { hasInvoice, invoiceText } from './invoice-answer.ts';
import { createStatusAnswers } from './status-answer.ts';

const ADDRESSES = new Map<string, { operation: Operation; method: string }>([
  ['/oauth2/token', { operation: 'token', method: 'POST' }],
  ['/CheckOut2Api/GetPaymentStatus', { operation: 'status', method: 'POST' }],
  ['/CheckOut2Api/GetInvoiceDetails', { operation: 'invoice', method: 'POST' }],
]);
const AUTHORIZATION = { operation: 'authorization', method: 'GET' } as const;
const LARGEST_REQUEST = 64 * 1024;

interface Received extends Call {
  readonly request: IncomingMessage;
  readonly path: string;
  readonly body: string;
}

/** An answer, and the purchase it shows, if it shows one. */
interface Reply {
  readonly answer: Answer;
  readonly shows?: Purchase;
}

/** A request listener for everything outside the controls. */
export function createService({
  now,
  access,
  purchases,
  counters,
  faults,
  latency,
}: {
  readonly now: () => number;
  readonly access: Access;
  readonly purchases: Purchases;
  readonly counters: Counters;
  readonly faults: Faults;
  /** By how many milliseconds every answer is held back. */
  readonly latency: { readonly ms: number };
}) {
  const statusAnswer = createStatusAnswers();

  function reply(call: Received): Reply {
    if (call.operation === 'token') return { answer: access.token(call.body, call.request.headers['content-type'] ?? '') };
    const refusal = access.refuse(call.request.headers.authorization);
    if (refusal !== null) return { answer: refusal };
    if (call.operation === 'authorization') return { answer: authorizationAnswer(call.path) };
    if (call.purchaseId === null) return { answer: errorAnswer(400, 'INVALID_REQUEST', 'PurchaseId must be specified.') };
    const purchase = purchases.find(call.purchaseId);
    if (purchase === null)
      return { answer: errorAnswer(404, 'PURCHASE_NOT_FOUND', 'There is no purchase with this PurchaseId.') };
    if (call.operation === 'status') return { answer: { status: 200, body: statusAnswer(purchase) }, shows: purchase };
    if (!hasInvoice(purchase))
      return { answer: errorAnswer(400, 'NO_INVOICE', 'The purchase is not completed or has no invoice.') };
    return { answer: { status: 200, body: invoiceText(purchase) }, shows: purchase };
  }

  function answer(call: Received, response: ServerResponse): void {
    // The client may have gone while the answer was held back.
    if (response.destroyed) return;
    const { answer: good, shows } = reply(call);
    const fault = faults.take(call, good.status === 200, now());
    if (shows !== undefined && shows.beingProcessedAt !== null) shows.customerShown = true;
    if (fault === null) {
      // Only an answer that arrives as it should has shown the state.
      if (shows !== undefined && call.operation === 'status') shows.shown += 1;
      send(response, good);
      return;
    }
    counters.fault();
    sendFaulty(response, fault, call, good, {
      now: now(),
      otherId: purchases.otherThan(call.purchaseId ?? '')?.id ?? 'another-purchase',
    });
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const path = pathOf(request.url ?? '/');
    const address = ADDRESSES.get(path) ?? (path.startsWith('/authorization/') ? AUTHORIZATION : undefined);
    if (address === undefined) {
      counters.elsewhere();
      send(response, errorAnswer(404, 'NOT_FOUND', 'There is no such address.'));
      return;
    }
    if (request.method !== address.method) {
      counters.elsewhere();
      send(response, errorAnswer(405, 'METHOD_NOT_ALLOWED', `Use ${address.method}.`, { allow: address.method }));
      return;
    }
    readBody(request, (body) => {
      if (body === null) {
        send(response, errorAnswer(413, 'TOO_LARGE', 'The request is too large.', { connection: 'close' }));
        return;
      }
      const { operation } = address;
      const purchaseId = operation === 'status' || operation === 'invoice' ? purchaseIdOf(body) : null;
      const call: Received = { operation, purchaseId, request, path, body };
      response.once('close', counters.begin(call, now()));
      if (latency.ms === 0) answer(call, response);
      else setTimeout(answer, latency.ms, call, response);
    });
  };
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}

/** Calls back with the whole body, or with null when it is larger than any request of the service. */
function readBody(request: IncomingMessage, done: (body: string | null) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= LARGEST_REQUEST) chunks.push(chunk);
  });
  request.on('end', () =>
    done(size > LARGEST_REQUEST ? null : (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()),
  );
}

function purchaseIdOf(body: string): string | null {
  try {
    const id: unknown = JSON.parse(body)?.PurchaseId;
    return typeof id === 'string' && id !== '' ? id : null;
  } catch {
    return null;
  }
}

/** The specification does not show this answer; it names the authorization that was asked for. */
function authorizationAnswer(path: string): Answer {
  return { status: 200, body: JSON.stringify({ AuthorizationId: path.slice('/authorization/'.length) }) };
}
