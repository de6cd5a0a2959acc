/**
 * Failures that a person reads. The code decides what happens (exit code, HTTP status); the message names the field,
 * the value and what to do. Expected failures of the outside world are values instead (see Observation, SendResult).
 */

export type ErrorCode =
  /** The request or a command's arguments are wrong. */
  | 'invalid'
  /** Settings are wrong or missing. */
  | 'configuration'
  /** There is no such purchase, site, route. */
  | 'not_found'
  /** The present state of things does not allow the request. */
  | 'conflict'
  /** No key, or a wrong one. */
  | 'unauthorized'
  /** The key does not allow this. */
  | 'forbidden'
  /** More than is accepted at once. */
  | 'too_large'
  /** The database or the service cannot be used now. */
  | 'unavailable';

/** An error meant for people: `message` is safe to show and never holds a secret or a person's data. */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AppError';
    this.code = code;
  }
}

/** Why a file was not read, of what `node:fs` threw; names the path. */
export function unreadFile(path: string, error: unknown): string {
  const { code = 'unknown' } = error as { readonly code?: string };
  switch (code) {
    case 'ENOENT':
      return `there is no such file: ${path}`;
    case 'NOT_A_FILE':
      return `${path} is a folder, a pipe or a device: name a file, which can be read again`;
    case 'TOO_LARGE':
      return `${path} has more than 4 MiB: name the right file`;
    case 'EACCES':
      return `${path} cannot be read (EACCES): let the user of this process read it, and enter its folders`;
    default:
      return `${path} cannot be read (${code})`;
  }
}

/** A sentence without its full stop, to go on with. */
export const clause = (sentence: string): string => sentence.replace(/\.$/, '');

/** A reason behind what it is the reason of: ` (no route to it)`; empty where none is known. */
export const inBrackets = (reason: string | null): string => (reason === null ? '' : ` (${clause(reason)})`);
