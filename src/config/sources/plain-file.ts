/** Reading files that a person names in the settings. */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';

/** More than any secret, certificate or settings file has. */
const MOST_BYTES = 4_194_304;

/**
 * The text of a file, or of the one to which a link leads. Throws as `node:fs` does, and for a pipe, a socket, a device or a folder
 * (code `NOT_A_FILE`) and more than 4 MiB (`TOO_LARGE`): a daemon reads its files again and again, and a pipe would hold up every loop
 * until a program writes into the pipe.
 */
export function readPlainFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw Object.assign(new Error(`${path} is no file`), { code: 'NOT_A_FILE' });
    if (stat.size > MOST_BYTES) throw Object.assign(new Error(`${path} is too large`), { code: 'TOO_LARGE' });
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** Whether every user of the machine may change a file. */
export function isOpenToOthers(path: string): boolean {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  return process.platform !== 'win32' && (mode & 0o002) !== 0;
}
