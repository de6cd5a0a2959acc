/** Causes by the error codes of sockets, name servers, TLS and undici: the one table, for every call over HTTP. */

export type NetworkCause =
  /** No name server answered, though the host may exist. */
  | 'name_server'
  | 'unknown_host'
  /** The machine has no free socket, or no free port. */
  | 'no_socket'
  | 'no_port'
  | 'no_route'
  | 'refused'
  | 'reset'
  /** The other end closed the connection before an answer, or within it. */
  | 'closed'
  | 'cut'
  | 'timeout'
  | 'tls'
  | 'bad_http'
  /** The process itself ended the call. */
  | 'stopped';

/** By code alone: messages change between releases. The first that fits. */
const CAUSES: readonly (readonly [RegExp, NetworkCause])[] = [
  [/^(EAI_|ERR_LOOKUP_TIMED_OUT$)/, 'name_server'],
  [/^ENOTFOUND$/, 'unknown_host'],
  [/^(EMFILE|ENFILE|ENOBUFS|ENOMEM)$/, 'no_socket'],
  [/^EADDRNOTAVAIL$/, 'no_port'],
  [/^(ENETUNREACH|EHOSTUNREACH|ENETDOWN|EACCES|EPERM)$/, 'no_route'],
  [/^(ABORT_ERR|UND_ERR_(ABORTED|CLOSED|DESTROYED))$/, 'stopped'],
  [/^ECONNREFUSED$/, 'refused'],
  [/^(ECONNRESET|EPIPE)$/, 'reset'],
  [/^UND_ERR_SOCKET$/, 'closed'],
  [/TIMEDOUT$|TIMEOUT/, 'timeout'],
  [/^(HPE_INVALID_EOF|UND_ERR_RES_CONTENT_LENGTH)/, 'cut'],
  [/^(HPE_|UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE))/, 'bad_http'],
  [/^(EPROTO$|ERR_(TLS|SSL)|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/, 'tls'],
];

/** The cause that a code stands for; null for a code that is not known here. */
export function networkCause(code: string): NetworkCause | null {
  return CAUSES.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
