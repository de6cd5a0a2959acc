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

/** One message of the protocol. */
export function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

/** Texts of the protocol, each with its end. */
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

const AT_START: readonly (readonly [string, string])[] = [
  ['server_version', '18.0'],
  ['server_encoding', 'UTF8'],
  ['client_encoding', 'UTF8'],
  ['DateStyle', 'ISO, MDY'],
  ['TimeZone', 'UTC'],
  ['integer_datetimes', 'on'],
  ['standard_conforming_strings', 'on'],
];

/** What greets a new session. */
export function greeting(pid: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeUInt32BE(pid);
  return Buffer.concat([
    message('R', Buffer.alloc(4)),
    ...AT_START.map(([name, value]) => message('S', text(name, value))),
    message('K', key),
    message('Z', Buffer.from('I')),
  ]);
}

/** What refuses a new session with a SQLSTATE. */
export const refusal = (code: string): Buffer =>
  message('E', Buffer.concat([text('SFATAL', 'VFATAL', `C${code}`, 'Mrefused by the world'), Buffer.alloc(1)]));

/** A statement that fails with a SQLSTATE, so that an open transaction has failed, too. */
export const failing = (code: string): Buffer =>
  message('Q', text(`do $$ begin raise exception using errcode = '${code}', message = 'failed by the world'; end $$`));

/** The channel that a message listens to, or null. */
export function listened(each: Buffer): string | null {
  const type = String.fromCharCode(each[0]!);
  if (type !== 'P' && type !== 'Q') return null;
  const body = each.subarray(5);
  const end = body.indexOf(0);
  const sql = type === 'P' ? body.toString('utf8', end + 1, body.indexOf(0, end + 1)) : body.toString('utf8', 0, end);
  return /^\s*listen\s+"?([\w.]+)"?/i.exec(sql)?.[1] ?? null;
}
