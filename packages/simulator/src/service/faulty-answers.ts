/** How a call goes wrong on the wire. */
import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as rest } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Fault } from '../contract/control.ts';
import type { FaultKind, RefusalKind } from '../contract/names.ts';
import { type Answer, type Call, errorAnswer, tokenErrorAnswer } from '../values/call.ts';
import { isRefusal } from './faults.ts';

/** A client that never hangs up must not keep a connection for ever. */
const LONGEST_ANSWER_MS = 60_000;
const HUGE_BYTES = 64 * 1024 * 1024;
const TRICKLE_BYTES = 8;
const TRICKLE_EVERY_MS = 250;
const JSON_TYPE = 'application/json; charset=utf-8';

/** Facts for faults besides the call. */
export interface FaultContext {
  readonly now: number;
  /** The id of another purchase than the one asked about. */
  readonly otherId: string;
}

/** Sends an answer without a fault. */
export function send(response: ServerResponse, { status, body, headers }: Answer): void {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  response.writeHead(status, { 'content-type': JSON_TYPE, 'content-length': length, ...headers });
  response.end(body);
}

/** Lets a call go wrong; `good` is what it would have been answered with. */
export function sendFaulty(response: ServerResponse, fault: Fault, call: Call, good: Answer, context: FaultContext): void {
  if (isRefusal(fault.kind)) send(response, refusal(fault, call, context.now));
  else SPOILS[fault.kind]({ response, fault, good, text: String(good.body), otherId: context.otherId });
}

interface Spoilable {
  readonly response: ServerResponse;
  readonly fault: Fault;
  readonly good: Answer;
  readonly text: string;
  readonly otherId: string;
}

const HTML = '<!doctype html><html><head><title>Maintenance</title></head><body>We are back soon.</body></html>';
const DEPTH = 500_000;

const SPOILS: Record<Exclude<FaultKind, RefusalKind>, (spoilable: Spoilable) => void> = {
  redirect: ({ response }) => send(response, { status: 302, body: '', headers: { location: '/signed-out' } }),
  html: ({ response }) => send(response, { status: 200, body: HTML, headers: { 'content-type': 'text/html; charset=utf-8' } }),
  empty: ({ response }) => sendOk(response, ''),
  null: ({ response }) => sendOk(response, 'null'),
  deep: ({ response }) => sendOk(response, '['.repeat(DEPTH) + ']'.repeat(DEPTH)),
  'content-type': ({ response, good }) => send(response, { ...good, headers: { ...good.headers, 'content-type': 'text/plain' } }),
  'html-type': ({ response, good }) =>
    send(response, { ...good, headers: { ...good.headers, 'content-type': 'text/html; charset=utf-8' } }),
  bom: ({ response, text }) => sendOk(response, `\ufeff${text}`),
  'trailing-bytes': ({ response, text }) => sendOk(response, `${text}\r\n\0\0\x1a`),
  gzip: ({ response, text }) => send(response, { status: 200, body: gzipSync(text), headers: { 'content-encoding': 'gzip' } }),
  'utf-16': ({ response, text }) => sendOk(response, Buffer.from(`\ufeff${text}`, 'utf16le')),
  'invalid-json': ({ response, text }) => sendOk(response, text.replace(/:[^,}]*/, ':')),
  'invalid-utf8': ({ response, text }) => sendOk(response, withInvalidUtf8(text)),
  'null-fields': ({ response, text }) =>
    sendOk(
      response,
      JSON.stringify(JSON.parse(text), (key, value) => (key === '' ? value : null)),
    ),
  'null-state': ({ response, text }) => sendOk(response, withField(text, 'State', 'null')),
  'string-state': ({ response, text }) => sendOk(response, withField(text, 'State', '"Completed"')),
  'unknown-state': ({ response, text, fault }) => sendOk(response, withField(text, 'State', String(fault.state ?? 17))),
  'string-amount': ({ response, text }) => sendOk(response, text.replace(/"(Price|TotalAmount)":([^,}]*)/, '"$1":"$2 kr"')),
  'error-list': ({ response, fault }) => send(response, errorOf(fault, 200)),
  'other-purchase': ({ response, text, otherId }) => sendOk(response, withField(text, 'PurchaseId', JSON.stringify(otherId))),
  reset: ({ response }) => response.socket?.resetAndDestroy(),
  hang: ({ response }) => hangUpLater(response),
  cut: ({ response, text }) => sendHalf(response, text),
  endless: ({ response }) => stream(response, endless()),
  huge: ({ response, text }) => stream(response, huge(text)),
  'slow-body': ({ response, text }) => stream(response, trickle(text)),
};

function sendOk(response: ServerResponse, body: Buffer | string): void {
  send(response, { status: 200, body });
}

function refusal(fault: Fault, call: Call, now: number): Answer {
  const status = Number.parseInt(fault.kind, 10);
  const headers = retryAfterHeader(fault.kind, fault.retryAfter, now);
  if (call.operation !== 'token') return errorOf(fault, status, headers);
  const error = status === 401 ? 'invalid_client' : status < 500 ? 'invalid_request' : 'server_error';
  return tokenErrorAnswer(status, error, headers);
}

function errorOf({ code, message }: Fault, status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return errorAnswer(status, code ?? `E${status}`, message ?? 'This call was made to fail.', headers);
}

function retryAfterHeader(kind: string, retryAfter: number | undefined, now: number): Record<string, string> {
  if (kind === '429-date') return { 'retry-after': new Date(now + (retryAfter ?? 30) * 1_000).toUTCString() };
  if (kind === '429-seconds') return { 'retry-after': String(retryAfter ?? 30) };
  return retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
}

/** Replaces the value of a field in JSON text, so that all other digits stay as they are. */
function withField(json: string, field: 'PurchaseId' | 'State', value: string): string {
  return json.replace(new RegExp(`"${field}":("[^"]*"|[^,}]*)`), () => `"${field}":${value}`);
}

/** The first string value begins with bytes that no character has. */
function withInvalidUtf8(json: string): Buffer {
  const at = json.indexOf(':"') + 2;
  return Buffer.concat([Buffer.from(json.slice(0, at)), Buffer.from([0xff, 0xfe, 0xc0]), Buffer.from(json.slice(at))]);
}

/** Promises a whole body, sends half of it and closes the connection. */
function sendHalf(response: ServerResponse, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': body.length + 1 });
  response.write(body.subarray(0, body.length >> 1), () => response.socket?.end());
}

function hangUpLater(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), LONGEST_ANSWER_MS).unref();
  response.once('close', () => clearTimeout(timer));
}

function stream(response: ServerResponse, chunks: AsyncIterable<string> | Iterable<string>): void {
  hangUpLater(response);
  response.writeHead(200, { 'content-type': JSON_TYPE });
  // At once, so that a client whose time-out ends at the headers is caught.
  response.flushHeaders();
  // The client hanging up is what these answers are for: nothing to report.
  pipeline(Readable.from(chunks), response, () => undefined);
}

function* endless(): Generator<string> {
  yield '{"PurchaseId":"';
  for (;;) yield 'x'.repeat(16_384);
}

/** Well-formed JSON that is far larger than any answer should be. */
function* huge(text: string): Generator<string> {
  const chunk = 'x'.repeat(65_536);
  yield '{"Padding":"';
  for (let sent = 0; sent < HUGE_BYTES; sent += chunk.length) yield chunk;
  yield `",${text.slice(1)}`;
}

async function* trickle(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += TRICKLE_BYTES) {
    yield text.slice(at, at + TRICKLE_BYTES);
    await rest(TRICKLE_EVERY_MS, undefined, { ref: false });
  }
}
