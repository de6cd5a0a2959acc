/** The entries of a batch, checked one by one: a bad one rejects only itself. */

import type { z } from '@hono/zod-openapi';
import { isJsonObject } from '../../domain/values/exact-json.ts';
import { createPauses } from '../../runtime/loops/pauses.ts';
import { faultsOf, inOneSentence } from '../http/invalid.ts';
import type { Entry } from '../http/large-body.ts';
import { Problem, type ProblemCode } from '../http/problems.ts';

export interface Rejected {
  readonly index: number;
  readonly code: ProblemCode;
  readonly detail: string;
}

export interface EntryChecks<Schema extends z.ZodType, Good> {
  readonly full: Schema;
  /** The same checks, with shorter errors. */
  readonly terse: Schema;
  /** Bytes of an entry. */
  readonly largest: number;
  /** The part of a good one that is kept. */
  readonly keep: (checked: z.output<Schema>) => Good;
}

/** Rejected entries that are explained in full; of each further one the first fault is named. */
const MOST_EXPLAINED = 100;
/** With no good one among so many, a batch is not worth the work of checking the rest. */
const MOST_INVALID = 1_000;

/**
 * Parses and checks entries. Nothing parsed is kept: all of them at once would fill the memory. Throws Problem when one is
 * not JSON, for then the body is not, and when none of the first thousand is good.
 */
export async function checkEntries<Schema extends z.ZodType, Good>(
  entries: readonly Entry[],
  { full, terse, largest, keep }: EntryChecks<Schema, Good>,
): Promise<{ good: Good[]; rejected: Rejected[] }> {
  const good: Good[] = [];
  const rejected: Rejected[] = [];
  const pause = createPauses();
  for (const [index, entry] of entries.entries()) {
    await pause();
    if (index === MOST_INVALID && good.length === 0) throw hopeless(rejected[0]!);
    if (entry.size > largest) {
      rejected.push({ index, code: 'too_large', detail: `is larger than ${largest / 1024} KiB` });
      continue;
    }
    const item = entry.value();
    const isExplained = rejected.length < MOST_EXPLAINED;
    const checked = (isExplained ? full : terse).safeParse(isJsonObject(item) ? item : null);
    if (checked.success) good.push(keep(checked.data));
    else rejected.push(rejection(index, item, checked.error, isExplained));
  }
  return { good, rejected };
}

function hopeless({ index, detail }: Rejected): Problem {
  return new Problem('invalid_request', `None of the first ${MOST_INVALID} entries is valid. Entry ${index}: ${detail}.`);
}

function rejection(index: number, item: unknown, error: z.core.$ZodError, isExplained: boolean): Rejected {
  const { code, errors } = faultsOf(error, item);
  if (!isJsonObject(item)) return { index, code, detail: 'must be an object: {"purchaseId": "…"}' };
  const named = isExplained ? errors : errors.slice(0, 1);
  const more = errors.length - named.length;
  return { index, code, detail: inOneSentence(named) + (more > 0 ? `; and ${more} more` : '') };
}
