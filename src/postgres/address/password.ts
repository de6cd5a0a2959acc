/** Passwords that are read again for each connection, so that one that is rotated, or a token of minutes, works without a restart. */
import { statSync } from 'node:fs';
import { readPlainFile } from '../../config/sources/plain-file.ts';
import { AppError, unreadFile } from '../../domain/values/errors.ts';

export interface PasswordSources {
  /** A file that holds the password and nothing else. */
  readonly passwordFile: string | null;
  /** A file that holds a whole URL; its password is taken. */
  readonly urlFile: string | null;
  /** A file of libpq with a line for each `host:port:database:user:password`. */
  readonly passFile: string | null;
  /** The password that was given, '' without one. */
  readonly given: string;
}

export interface Login {
  /** The name of the host may be the folder of a socket. */
  readonly host: { readonly name: string; readonly port: number };
  readonly user: string;
  readonly database: string;
}

/**
 * The password of a login, as it is now; '' where none is found. Throws an AppError for a file that cannot be read, or that others
 * may read as libpq refuses it.
 */
export function readPassword({ passwordFile, urlFile, passFile, given }: PasswordSources, login: Login): string {
  if (passwordFile !== null) return oneLine(contentOf('DATABASE_PASSWORD_FILE', passwordFile), passwordFile);
  if (urlFile !== null) {
    const password = /^[^:]*:\/\/[^:@/?#]*:(.*)@[^@]*$/.exec(contentOf('DATABASE_URL_FILE', urlFile))?.[1];
    if (password !== undefined) return decodeURIComponent(password);
  }
  if (given !== '' || passFile === null) return given;
  const mode = statSync(passFile, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return '';
  if ((mode & 0o077) !== 0 && process.platform !== 'win32')
    throw new AppError(
      'configuration',
      `the file of passwords ${passFile} may be read by others and is not used: chmod 600 ${passFile}`,
    );
  return passwordIn(contentOf('PGPASSFILE', passFile), login);
}

function contentOf(name: string, path: string): string {
  try {
    return readPlainFile(path).replace(/[\r\n]+$/, '');
  } catch (cause) {
    throw new AppError('configuration', `${name}: ${unreadFile(path, cause)}`, { cause });
  }
}

function oneLine(text: string, path: string): string {
  if (!/[\r\n]/.test(text)) return text;
  const advice = 'leave the password there alone, in the first line';
  throw new AppError(
    'configuration',
    `DATABASE_PASSWORD_FILE: ${path} has several lines, or begins with an empty one: ${advice}`,
  );
}

/** The password of the first line that fits; `*` fits everything, and a folder of a socket is `localhost`. */
function passwordIn(text: string, { host, user, database }: Login): string {
  const name = host.name.startsWith('/') ? 'localhost' : host.name;
  const wanted = [name, `${host.port}`, database, user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) continue;
    const fields = line.match(/(?:\\.|[^:\\])*(?::|$)/g)?.map((field) => field.replace(/:$/, '').replace(/\\(.)/g, '$1')) ?? [];
    if (fields.length >= 5 && wanted.every((each, index) => fields[index] === '*' || fields[index] === each)) return fields[4]!;
  }
  return '';
}
