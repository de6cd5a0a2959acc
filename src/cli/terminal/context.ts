import type { TakeSignals } from '../../runtime/process/signals.ts';

/** What a command may touch of its process, so that tests can run commands without one. */
export interface CliContext {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Whether standard output is a terminal. */
  readonly isTTY: boolean;
  /** Set by --quiet: what stands beside results and errors is left out. */
  isQuiet?: true;
  /** Absent in tests. */
  readonly takeSignals?: TakeSignals;
}
