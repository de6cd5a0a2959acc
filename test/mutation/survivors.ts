/** The list of changes to the code that no test notices. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A change that no test notices. */
export interface Survivor {
  /** The line of the source at which the change begins, trimmed. */
  readonly line: string;
  /** The kind of change, the code before and after it. */
  readonly mutant: string;
  /** Why no test is to notice it. */
  readonly reason: string;
}

export const ROOT = join(import.meta.dirname, '../..');
export const LIST = join(import.meta.dirname, 'survivors.json');

/** The list, by the path of each file in the repository. */
export function readSurvivors(): Record<string, readonly Survivor[]> {
  return JSON.parse(readFileSync(LIST, 'utf8')) as Record<string, readonly Survivor[]>;
}
