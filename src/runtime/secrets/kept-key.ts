/** The key that encrypts stored secrets, made once and kept beside the embedded database. */
import { randomBytes } from 'node:crypto';
import { chownSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';

/** In DATA_DIR. */
const FILE = 'secrets-key';

/** Reads the key of a data folder, and makes it when there is none. Of several processes at once, all get the same. */
export function keptKey(dataDir: string): string {
  const path = join(dataDir, FILE);
  try {
    if (!isThere(path)) make(dataDir, path);
    const key = readFileSync(path, 'utf8').trim();
    if (key.length < 32) throw new Error('the file is damaged');
    return key;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new AppError(
      'configuration',
      `SECRETS_KEY: the key kept in ${path} cannot be read or made (${code ?? message}); mend that, or set SECRETS_KEY`,
      { cause },
    );
  }
}

/** The same where there is one; null otherwise. */
export function keptKeyIfAny(dataDir: string): string | null {
  return isThere(join(dataDir, FILE)) ? keptKey(dataDir) : null;
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Under a name of its own first, then linked to the real one, which fails when another process was faster. */
function make(dataDir: string, path: string): void {
  mkdirSync(dataDir, { recursive: true });
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    const { uid, gid } = statSync(dataDir);
    // Made by root in another user's folder, the key must belong to that user, who may start the daemon without root later.
    if (process.getuid?.() === 0 && uid !== 0) chownSync(draft, uid, gid);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
