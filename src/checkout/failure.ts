/** Why a call brought no complete answer. */

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
  | 'bad_http'
  | 'stopped'
  | 'send_failed';

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? '');
}

/** Whether the connection went away, as opposed to never coming about or carrying nonsense. */
export function lostConnection(error: Error): boolean {
  return /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(codeOf(error));
}

/**
 * System and undici error codes in our words. Codes only: messages change between releases. `isSent`: a connection stood and
 * the request was being written. `hasBegun`: the answer had.
 */
export function reasonOf(error: Error, { isSent, hasBegun }: { isSent: boolean; hasBegun: boolean }): FailureReason {
  const code = codeOf(error);
  if (/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/.test(code)) return 'timeout';
  if (code === 'ECONNREFUSED') return 'connection_refused';
  if (/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM)$/.test(code)) return 'no_route';
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'dns';
  if (
    /^(ERR_TLS|ERR_SSL|EPROTO$|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH)/.test(code)
  ) {
    return 'tls';
  }
  if (/^HPE_INVALID_EOF|^UND_ERR_RES_CONTENT_LENGTH/.test(code)) return 'connection_cut';
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(code)) {
    if (hasBegun) return 'connection_cut';
    return code === 'UND_ERR_SOCKET' ? 'connection_closed' : 'connection_reset';
  }
  // Not every error of undici's parser has a code. Once the request is sent, what is left is what came back.
  return isSent ? 'bad_http' : 'send_failed';
}
