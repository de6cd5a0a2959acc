/** Why a call brought no complete answer. */

import { type NetworkCause, networkCause } from '../runtime/http/network-errors.ts';
import { ProxyFailed } from '../runtime/http/tunnel.ts';

export type FailureReason =
  | 'timeout'
  | 'too_large'
  | 'dns'
  | 'tls'
  | 'connection_refused'
  | 'connection_reset'
  | 'connection_closed'
  | 'connection_cut'
  | 'no_route'
  | 'proxy_failed'
  | 'proxy_refused'
  | 'bad_http'
  | 'stopped'
  | 'send_failed';

/** The causes that have a reason of their own here; what has none depends on how far the call came. */
const REASONS: { readonly [Cause in NetworkCause]?: FailureReason } = {
  name_server: 'dns',
  unknown_host: 'dns',
  no_port: 'no_route',
  no_route: 'no_route',
  refused: 'connection_refused',
  reset: 'connection_reset',
  closed: 'connection_closed',
  cut: 'connection_cut',
  timeout: 'timeout',
  tls: 'tls',
};

function causeOf(error: unknown): NetworkCause | null {
  return networkCause(String((error as { code?: unknown }).code ?? ''));
}

/** Whether the connection went away, as opposed to never coming about or carrying nonsense. */
export function lostConnection(error: Error): boolean {
  const cause = causeOf(error);
  return cause === 'closed' || cause === 'reset';
}

/**
 * Why a call failed. `isSent`: a connection stood and the request was being written. `hasBegun`: the answer had. Not every
 * error of undici's parser has a code: once the request is sent, what is left is what came back.
 */
export function reasonOf(error: Error, { isSent, hasBegun }: { isSent: boolean; hasBegun: boolean }): FailureReason {
  if (error instanceof ProxyFailed) return error.isRefusal ? 'proxy_refused' : 'proxy_failed';
  if (hasBegun && lostConnection(error)) return 'connection_cut';
  const cause = causeOf(error);
  const reason = cause === null ? undefined : REASONS[cause];
  return reason ?? (isSent ? 'bad_http' : 'send_failed');
}
