/** Messages of Postgres's protocol, as bytes. */

/** The messages of the frontend in a buffer; what is left belongs to a message that is under way. */
export function split(buffer: Buffer): { messages: Buffer[]; rest: Buffer } {
  const messages: Buffer[] = [];
  let at = 0;
  while (buffer.length - at >= 5) {
    const length = 1 + buffer.readUInt32BE(at + 1);
    if (buffer.length - at < length) break;
    messages.push(buffer.subarray(at, at + length));
    at += length;
  }
  return { messages, rest: buffer.subarray(at) };
}

export const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
};
export const text = (...parts: string[]): Buffer => Buffer.from(parts.map((part) => `${part}\0`).join(''));

/** The only value of the only row of an answer. */
export function onlyValue(answer: Buffer): string {
  for (let at = 0; at < answer.length; at += 1 + answer.readUInt32BE(at + 1)) {
    if (answer[at] === 0x44) return answer.toString('utf8', at + 11, at + 11 + answer.readUInt32BE(at + 7));
  }
  throw new Error(`no row: ${answer.toString('latin1')}`);
}

const PID = Buffer.from('pg_backend_pid()');
/** All connections are one session of the engine, so that each gets a number of its own here. */
export function withPid(each: Buffer, pid: number): Buffer {
  if ((each[0] !== 0x50 && each[0] !== 0x51) || (!each.includes(PID) && !/concurrently/i.test(each.toString('latin1'))))
    return each;
  const body = each
    .subarray(5)
    .toString('latin1')
    .replaceAll('pg_backend_pid()', `${pid}`)
    .replace(/ concurrently/i, '');
  return message(String.fromCharCode(each[0]!), Buffer.from(body, 'latin1'));
}
