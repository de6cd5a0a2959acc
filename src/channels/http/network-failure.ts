/** Turns the errors of sockets, name servers, TLS and HTTP parsing into a stable word, a sentence and whose fault it is. */
import { type NetworkCause, networkCause } from '../../runtime/http/network-errors.ts';
import { ProxyFailed } from '../../runtime/http/tunnel.ts';
import { AddressRefused } from './public-address.ts';

/** A failure below HTTP. */
export interface NetworkFailure {
  readonly reason: string;
  readonly detail: string;
  readonly fault: 'receiver' | 'ours';
}

const KNOWN: Readonly<Record<NetworkCause, NetworkFailure>> = {
  // Of one name alone it may be the receiver's own name server. That cannot be seen from here, so the failure counts as on our side, and is shown.
  name_server: { reason: 'dns_failed', detail: 'The name server did not answer', fault: 'ours' },
  no_socket: { reason: 'no_socket', detail: 'No free socket on this machine', fault: 'ours' },
  no_port: { reason: 'no_socket', detail: 'No free socket on this machine', fault: 'ours' },
  no_route: { reason: 'no_route', detail: 'This machine has no route to the address', fault: 'ours' },
  stopped: { reason: 'stopped', detail: 'The attempt was stopped', fault: 'ours' },
  unknown_host: { reason: 'unknown_host', detail: 'The host name does not exist', fault: 'receiver' },
  refused: { reason: 'connection_refused', detail: 'The connection was refused', fault: 'receiver' },
  reset: { reason: 'connection_lost', detail: 'The connection ended before the answer', fault: 'receiver' },
  closed: { reason: 'connection_lost', detail: 'The connection ended before the answer', fault: 'receiver' },
  timeout: { reason: 'timeout', detail: 'There was no answer in time', fault: 'receiver' },
  cut: { reason: 'bad_answer', detail: 'The answer is not valid HTTP', fault: 'receiver' },
  bad_http: { reason: 'bad_answer', detail: 'The answer is not valid HTTP', fault: 'receiver' },
  tls: { reason: 'tls', detail: 'No secure connection could be made', fault: 'receiver' },
};

/** The codes behind an error: its own, or those of every address that was tried, or those of its cause. */
function* codesOf(error: unknown): Generator<string> {
  if (!(error instanceof Error)) return;
  if (error instanceof AggregateError) for (const inner of error.errors) yield* codesOf(inner);
  else if ('code' in error && typeof error.code === 'string') yield error.code;
  else if (error instanceof DOMException) yield error.name === 'TimeoutError' ? 'TIMEOUT' : 'ABORT_ERR';
  else yield* codesOf(error.cause);
}

function behind<Kind extends Error>(error: unknown, kind: new (...given: never[]) => Kind): Kind | null {
  if (error instanceof kind) return error;
  return error instanceof Error && error.cause !== undefined ? behind(error.cause, kind) : null;
}

/**
 * A proxy is the operator's: its faults are ours, but what it forbids is what the receiver's address deserves. Its host is left
 * out: callers of the API who may name receivers read this.
 */
function explainProxy({ isRefusal, failed }: ProxyFailed): NetworkFailure {
  const detail = `The proxy ${failed}.`;
  return isRefusal ? { reason: 'proxy_refused', detail, fault: 'receiver' } : { reason: 'proxy_failed', detail, fault: 'ours' };
}

/** An error that no code explains: after the request was sent, it comes from what the other end made of the answer. */
function unexplained(isSent: boolean, code = ''): NetworkFailure {
  return isSent
    ? { reason: 'bad_answer', detail: `The answer is not valid HTTP${code}.`, fault: 'receiver' }
    : { reason: 'unexpected', detail: `Something unexpected happened${code}.`, fault: 'ours' };
}

/**
 * Explains an error. Only its code is quoted: messages may contain the whole URL. When several addresses were tried and
 * one failed through the receiver, the receiver is to blame: a machine without IPv6 has no route to half of them. `isSent`
 * says that a connection stood and the request was being written: not every error of undici's parser has a code.
 */
export function networkFailureOf(error: unknown, { isSent = false } = {}): NetworkFailure {
  const proxy = behind(error, ProxyFailed);
  if (proxy) return explainProxy(proxy);
  const refusal = behind(error, AddressRefused);
  if (refusal) return { reason: 'address_refused', detail: refusal.message, fault: 'receiver' };
  const found: NetworkFailure[] = [];
  for (const code of codesOf(error)) {
    const cause = networkCause(code);
    if (cause === null) found.push(unexplained(isSent, ` (${code})`));
    else found.push({ ...KNOWN[cause], detail: `${KNOWN[cause].detail} (${code}).` });
  }
  return found.find(({ fault }) => fault === 'receiver') ?? found[0] ?? unexplained(isSent);
}
