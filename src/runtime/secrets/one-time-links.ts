/**
 * Links that sign a browser in once. They are signed with a key that the command which prints them and the daemon share, so
 * that the command needs no daemon. A link is short, so that it fits into a terminal's line.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Instant, MINUTE, type Milliseconds, SECOND } from '../../domain/values/time.ts';

const LIFETIME: Milliseconds = 10 * MINUTE;
/** Bytes: the second it was made, minutes that it is good for, chance; then the signature. */
const HEAD = 4 + 2 + 3;
const SIGNATURE = 12;
/** The name of the file of a used link: the end of its lifetime in milliseconds since 1970, and a digest of the link. */
const USED = /^used-link-(\d+)-[\da-f]{32}$/;

/** The address of a console, which ends with a slash, with a link that is good once and for the lifetime, ten minutes unless given. */
export function linkTo(address: string, key: string, lifetime: Milliseconds = LIFETIME): string {
  const head = Buffer.concat([Buffer.alloc(6), randomBytes(3)]);
  head.writeUInt32BE(Math.floor(Date.now() / SECOND));
  head.writeUInt16BE(lifetime / MINUTE, 4);
  return `${address}open?${Buffer.concat([head, signature(key, head)]).toString('base64url')}`;
}

/**
 * Checks links of a key; null: none is good. Used links are noted in the folder that keeps the key, DATA_DIR: every daemon with this
 * key, and the next one after a restart, takes the notes into account.
 */
export function createLinks(key: string | null, folder: string) {
  return {
    /**
     * Whether a link, as the address has it after its `?`, is good; from then on it is not. Throws where the folder cannot be
     * written: then the link stays unused, and the sign-in fails.
     */
    use: (link: string): boolean => {
      const bytes = Buffer.from(link, 'base64url');
      const head = bytes.subarray(0, HEAD);
      if (key === null || bytes.length !== HEAD + SIGNATURE || bytes.toString('base64url') !== link) return false;
      if (!timingSafeEqual(bytes.subarray(HEAD), signature(key, head))) return false;
      const made = head.readUInt32BE() * SECOND;
      const [until, now] = [made + head.readUInt16BE(4) * MINUTE, Date.now()];
      return until > now && isFirstUse(folder, link, { until, now });
    },
  };
}

/** Notes that a link was used, and deletes the notes of links that are over. Answers false where the link was noted before. */
function isFirstUse(folder: string, link: string, { until, now }: { readonly until: Instant; readonly now: Instant }): boolean {
  for (const name of readdirSync(folder)) {
    const [, over] = USED.exec(name) ?? [];
    if (over !== undefined && Number(over) <= now) rmSync(join(folder, name), { force: true });
  }
  const digest = createHash('sha256').update(link).digest('hex').slice(0, 32);
  try {
    // Of several daemons at once, one makes the file.
    writeFileSync(join(folder, `used-link-${until}-${digest}`), '', { flag: 'wx', mode: 0o600, flush: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function signature(key: string, head: Buffer): Buffer {
  return createHmac('sha256', key).update('one-time link ').update(head).digest().subarray(0, SIGNATURE);
}
