/**
 * Refuses servers that ask for the password in clear text on a line without encryption: the driver would send it to any
 * server that answers there, also after an attacker has answered that the server speaks no TLS (`sslmode=prefer`).
 */
import type { Socket } from 'node:net';

const AUTHENTICATION = 'R'.charCodeAt(0);
const CLEAR_TEXT = 3;

const CLEAR_TEXT_PASSWORD =
  'the server asks for the password in clear text on a connection without encryption, so it was not sent: let sslmode in the URL be require or verify-full, or let the server ask by scram-sha-256 (pg_hba.conf)';
const NO_POSTGRES = 'what answers there does not speak the protocol of Postgres';

/** Breaks a socket without encryption whose server asks for the password in clear text, before the driver reads that request. */
export function refuseClearText(socket: Socket): void {
  const refusal = createReader();
  const emit = socket.emit.bind(socket);
  socket.emit = ((event: string, ...values: unknown[]): boolean => {
    const reason = event === 'data' ? refusal(values[0] as Buffer) : null;
    if (reason === null) return emit(event, ...values);
    socket.destroy(new Error(reason));
    return false;
  }) as typeof socket.emit;
}

/**
 * Reads a server's bytes, piece by piece; answers why the server is refused, or null. Reads on after the login: the driver
 * would send the password then, too.
 */
function createReader(): (chunk: Buffer) => string | null {
  /** The beginning of a message whose head has not come as a whole. */
  let kept: Buffer | null = null;
  /** Bytes of the present message that are still to come, and do not matter. */
  let rest = 0;
  return (chunk) => {
    const bytes = kept === null ? chunk : Buffer.concat([kept, chunk]);
    let at = rest;
    for (let head = readHead(bytes, at); head !== null; head = readHead(bytes, at)) {
      if (typeof head === 'string') return head;
      at += head;
    }
    kept = at < bytes.length ? bytes.subarray(at) : null;
    rest = Math.max(0, at - bytes.length);
    return null;
  };
}

/**
 * The size of the message that begins at a place, or why the server is refused; null while the message's head has not come
 * as a whole: a type, the length with its own four bytes, and in a message about authentication the kind of authentication.
 */
function readHead(bytes: Buffer, at: number): number | string | null {
  if (bytes.length - at < 5) return null;
  const length = bytes.readUInt32BE(at + 1);
  const isAuthentication = bytes[at] === AUTHENTICATION;
  if (length < (isAuthentication ? 8 : 4)) return NO_POSTGRES;
  if (!isAuthentication) return 1 + length;
  if (bytes.length - at < 9) return null;
  return bytes.readUInt32BE(at + 5) === CLEAR_TEXT ? CLEAR_TEXT_PASSWORD : 1 + length;
}
