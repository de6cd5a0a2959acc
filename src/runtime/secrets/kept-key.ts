/** Secrets that are made once and kept in DATA_DIR, for every process of this user that uses the folder. */
import { randomBytes } from 'node:crypto';
import { accessSync, chownSync, constants, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { AppError } from '../../domain/values/errors.ts';

interface Kept {
  /** In DATA_DIR. */
  readonly file: string;
  /** The file's only line. */
  make(): string;
  readonly pattern: RegExp;
  /** The setting to use instead. */
  readonly setting: string;
}

/** Encrypts stored secrets beside the embedded database. */
const SECRETS: Kept = {
  file: 'secrets-key',
  make: () => randomBytes(32).toString('base64'),
  pattern: /^(.{32,})$/,
  setting: 'SECRETS_KEY',
};

/** Opens the API to programs of this user while the settings name no key; a whole header, so that curl can send the file. */
const MACHINE: Kept = {
  file: 'authorization',
  make: () => `authorization: Bearer pwm_${randomBytes(32).toString('base64url')}`,
  pattern: /^authorization: Bearer (\S{32,})$/,
  setting: 'API_KEY',
};

/** Reads the key that encrypts stored secrets, and makes the key when there is none. Of several processes at once, all get the same. */
export const keptKey = (dataDir: string): string => kept(dataDir, SECRETS);

/** The same where there is one; null otherwise. */
export const keptKeyIfAny = (dataDir: string): string | null => keptIfAny(dataDir, SECRETS);

/** Reads the key of the machine, and makes the key when there is none. Throws AppError `configuration` where neither can be done. */
export const machineKey = (dataDir: string): string => kept(dataDir, MACHINE);

/** The same where there is one; null otherwise. */
export const machineKeyIfAny = (dataDir: string): string | null => keptIfAny(dataDir, MACHINE);

/** Why `machineKey` would throw, without making anything; null when it would not. */
export function machineKeyTrouble(dataDir: string): string | null {
  try {
    if (machineKeyIfAny(dataDir) === null) accessSync(firstThere(resolve(dataDir)), constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return error instanceof AppError ? error.message : unusable(join(dataDir, MACHINE.file), MACHINE, error).message;
  }
}

/** The path, or the nearest folder above it that is there. */
function firstThere(path: string): string {
  return isThere(path) || dirname(path) === path ? path : firstThere(dirname(path));
}

function kept(dataDir: string, key: Kept): string {
  const path = join(dataDir, key.file);
  try {
    if (!isThere(path)) make(dataDir, path, key.make());
    const [, found] = key.pattern.exec(readFileSync(path, 'utf8').trim()) ?? [];
    if (found === undefined) throw new Error('the file is damaged');
    return found;
  } catch (cause) {
    throw unusable(path, key, cause);
  }
}

function keptIfAny(dataDir: string, key: Kept): string | null {
  return isThere(join(dataDir, key.file)) ? kept(dataDir, key) : null;
}

function unusable(path: string, { setting }: Kept, cause: unknown): AppError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new AppError(
    'configuration',
    `${setting}: the key kept in ${path} cannot be read or made (${code ?? message}); mend that, or set ${setting}`,
    { cause },
  );
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Under a name of its own first, then linked to the real one, which fails when another process was faster. */
function make(dataDir: string, path: string, line: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(draft, `${line}\n`, { flag: 'wx', mode: 0o600, flush: true });
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
