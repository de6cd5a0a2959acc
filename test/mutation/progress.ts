/** What `mutate.ts` and the process that runs the tests say to each other. */
import { readFileSync } from 'node:fs';

/** Changes to try, and where to write what became of them. */
export interface Work {
  /** A file that gets a line of JSON for each `Progress`. A process that takes over from one that died reads it. */
  readonly log: string;
  readonly changes: readonly { readonly id: string; readonly file: string }[];
  /** Test files that judge tables and constants, too: for each of them the code is loaded again. */
  readonly reloading: readonly string[];
}

/** A line of the log. `test` is the path of a test file. */
export type Progress =
  | { readonly is: 'begun'; readonly pid: number }
  | { readonly is: 'trying' | 'missed' | 'noticed'; readonly change: string; readonly test: string }
  /** Every change was tried with this test file. */
  | { readonly is: 'done'; readonly test: string }
  /** A test takes too long to judge. It notices a change without saying which rule the change breaks. */
  | { readonly is: 'slow'; readonly test: string; readonly name: string }
  /** A test fails without a change: at all, when it runs for the second time in a process, or without the tests before it. */
  | { readonly is: 'wrong'; readonly test: string; readonly name: string };

declare module 'vitest' {
  interface ProvidedContext {
    mutation: Work;
  }
}

/** The lines of a log. */
export function readLog(path: string): Progress[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Progress);
}
