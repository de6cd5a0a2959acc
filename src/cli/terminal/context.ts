import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { AppError, unreadFile } from '../../domain/values/errors.ts';
import type { TakeSignals } from '../../runtime/process/signals.ts';

/** The parts of its process that a command may touch, so that tests can run commands without a process. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Whether standard output is a terminal. */
  readonly isTTY: boolean;
  /** Set by --quiet: the command writes results and errors alone. */
  isQuiet?: true;
  /** The variables before those of the file of `--env`, and that file. */
  envFile?: { readonly path: string; readonly before: NodeJS.ProcessEnv };
  /** Absent in tests. */
  readonly takeSignals?: TakeSignals;
}

/** The variables with those of the file of `--env` as it is now. The environment wins, as it does over every file. */
export function variablesNow({ env, envFile }: CliContext): NodeJS.ProcessEnv {
  return envFile === undefined ? env : withFile(envFile.before, envFile.path);
}

/** The variables given, and those of a file that are not set. Throws AppError `invalid` for a file that cannot be read. */
export function withFile(env: NodeJS.ProcessEnv, path: string): NodeJS.ProcessEnv {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new AppError('invalid', `--env: ${unreadFile(resolve(path), error)}`);
  }
  const all = { ...env };
  for (const [name, value] of Object.entries(parseEnv(text))) all[name] ||= value;
  return all;
}
