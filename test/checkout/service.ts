/** Stand-ins for the checkout service that behave badly on purpose: real sockets, scripted answers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { type CheckoutSite, createCheckoutClient } from '../../src/checkout/client.ts';
import { listenForTest } from '../support/not-http.ts';

export const ID = '8f14e45f-ceea-467f-9d2b-7d5e1a2b3c4d';

/** A call as the stand-in received it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** The n-th connection and the n-th call of this path, from 1. */
  readonly connection: number;
  readonly count: number;
}

type Answer = (response: ServerResponse, received: Received) => void;

/** Ends the response as JSON. */
export function json(response: ServerResponse, value: unknown, status = 200): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

/** An HTTP service; paths without an answer of their own get 404. The token endpoint hands out t1, t2, … */
export async function startService(answers: Record<string, Answer> = {}) {
  const received: Received[] = [];
  let connections = 0;
  const connectionOf = new WeakMap<Socket, number>();
  const all: Record<string, Answer> = {
    '/oauth2/token': (response, { count }) =>
      json(response, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 3600 }),
    ...answers,
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const path = request.url!;
    const call: Received = {
      method: request.method!,
      path,
      headers: request.headers,
      body,
      connection: connectionOf.get(request.socket)!,
      count: received.filter((earlier) => earlier.path === path).length + 1,
    };
    received.push(call);
    const answer = all[path];
    if (answer === undefined) json(response, {}, 404);
    else answer(response, call);
  });
  server.on('connection', (socket: Socket) => connectionOf.set(socket, ++connections));
  const baseUrl = await listenForTest(server);
  const callsOf = (path: string) => received.filter((call) => call.path === path);
  return { baseUrl, received, callsOf, answers: all, tokens: () => callsOf('/oauth2/token').length };
}

/** A clock in the test's hand. */
export function heldClock(start = Date.UTC(2026, 10, 20)) {
  let passed = 0;
  return {
    now: () => start + passed,
    monotonic: () => passed,
    advance: (milliseconds: number) => {
      passed += milliseconds;
    },
  };
}

type Options = Parameters<typeof createCheckoutClient>[1];

/** A client of the stand-in, closed with the test. */
export function clientOf(baseUrl: string, site: Partial<CheckoutSite> = {}, options: Partial<Options> = {}) {
  const client = createCheckoutClient(
    {
      name: 'se',
      baseUrl,
      auth: 'basic',
      clientId: 'shop',
      clientSecret: 'hush-hush',
      timeZone: 'Europe/Stockholm',
      concurrency: 4,
      timeout: 10_000,
      ...site,
    },
    { fields: ['Price', 'CurrencyCode', 'OrderReference'], ...options },
  );
  onTestFinished(() => client.close());
  return client;
}

export const STATUS = '/CheckOut2Api/GetPaymentStatus';
export const INVOICE = '/CheckOut2Api/GetInvoiceDetails';

/** A good answer's text; amounts are text so that their digits are what the test wrote. */
export function statusText(changes: Record<string, unknown> = {}, price = '249.50'): string {
  const status = {
    PurchaseId: ID,
    State: 6,
    Description: 'Two chairs',
    Price: 0,
    Created: '2026-11-20T09:15:02.1234567',
    CurrencyCode: 'SEK',
    InvoicingFirstName: 'Astrid',
    Phone: '+46 70 000 00 00',
    Mail: 'astrid@example.test',
    CustomerToken: 'remember-me-token',
    OrderReference: 'ORD-1',
    PaymentMethod: 2,
    IsRecurringPayment: false,
    Attachment: null,
    ...changes,
  };
  return JSON.stringify(status).replace('"Price":0', `"Price":${price}`);
}
