/** Cuts what arrives on a connection into HTTP/1.1 requests: as much of the protocol as the bench's own clients use. */

const END_OF_HEAD = '\r\n\r\n';

const LENGTH = 'content-length: ';
const ZERO = 0x30;

/**
 * A function for the chunks of one connection, which calls `onRequest` for each request that is complete. The head comes
 * as bytes: a reader that skips it does not pay for its text.
 */
export function requestFrames(onRequest: (head: Buffer, body: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | null = null;
  return (chunk) => {
    let data = rest === null ? chunk : Buffer.concat([rest, chunk]);
    rest = null;
    while (data.length > 0) {
      const end = data.indexOf(END_OF_HEAD);
      if (end < 0) break;
      const begin = end + END_OF_HEAD.length;
      const next = begin + bodyLength(data, end);
      if (data.length < next) break;
      onRequest(data.subarray(0, end), data.subarray(begin, next));
      if (data.length === next) return;
      data = data.subarray(next);
    }
    if (data.length > 0) rest = data;
  };
}

/** As undici writes it: in small letters, with one space. */
function bodyLength(data: Buffer, end: number): number {
  const at = data.indexOf(LENGTH);
  let length = 0;
  if (at >= 0 && at < end)
    for (let digit = at + LENGTH.length; data[digit]! >= ZERO; digit++) length = length * 10 + data[digit]! - ZERO;
  return length;
}
