/** Cuts what arrives on a connection into HTTP/1.1 requests: as much of the protocol as the bench's own clients use. */

const END_OF_HEAD = '\r\n\r\n';

/** A function for the chunks of one connection, which calls `onRequest` for each request that is complete. */
export function requestFrames(onRequest: (head: string, body: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | null = null;
  return (chunk) => {
    let data = rest === null ? chunk : Buffer.concat([rest, chunk]);
    rest = null;
    while (data.length > 0) {
      const end = data.indexOf(END_OF_HEAD);
      if (end < 0) break;
      const head = data.toString('latin1', 0, end);
      const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      const begin = end + END_OF_HEAD.length;
      if (data.length < begin + length) break;
      onRequest(head, data.subarray(begin, begin + length));
      data = data.subarray(begin + length);
    }
    if (data.length > 0) rest = data;
  };
}
