/**
 * Links that sign a browser in once. They are signed with a key that the command which prints them and the daemon share, so
 * that the command needs no daemon. A link is short, so that it fits into a terminal's line.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Instant, MINUTE, type Milliseconds, SECOND } from '../../domain/values/time.ts';

const LIFETIME: Milliseconds = 10 * MINUTE;
/** Bytes: the second it was made, minutes that it is good for, chance; then the signature. */
const HEAD = 4 + 2 + 3;
const SIGNATURE = 12;

/** The address of a console, which ends with a slash, with a link that is good once and for the lifetime, ten minutes unless given. */
export function linkTo(address: string, key: string, lifetime: Milliseconds = LIFETIME): string {
  const head = Buffer.concat([Buffer.alloc(6), randomBytes(3)]);
  head.writeUInt32BE(Math.floor(Date.now() / SECOND));
  head.writeUInt16BE(lifetime / MINUTE, 4);
  return `${address}open?${Buffer.concat([head, signature(key, head)]).toString('base64url')}`;
}

export interface Links {
  /** Whether a link, as the address has it after its `?`, is good; from then on it is not. */
  use(link: string): boolean;
}

/** Checks links of a key; null: none is good. A link made before this moment may have been used at an earlier daemon, and is refused. */
export function createLinks(key: string | null, begun: Instant = Date.now()): Links {
  /** Until when each link that was used would be good. */
  const used = new Map<string, Instant>();
  return {
    use: (link) => {
      const bytes = Buffer.from(link, 'base64url');
      const head = bytes.subarray(0, HEAD);
      if (key === null || bytes.length !== HEAD + SIGNATURE || bytes.toString('base64url') !== link) return false;
      if (!timingSafeEqual(bytes.subarray(HEAD), signature(key, head))) return false;
      const made = head.readUInt32BE() * SECOND;
      const [until, now] = [made + head.readUInt16BE(4) * MINUTE, Date.now()];
      if (made + SECOND <= begun || until <= now || used.has(link)) return false;
      for (const [each, over] of used) if (over <= now) used.delete(each);
      used.set(link, until);
      return true;
    },
  };
}

function signature(key: string, head: Buffer): Buffer {
  return createHmac('sha256', key).update('one-time link ').update(head).digest().subarray(0, SIGNATURE);
}
