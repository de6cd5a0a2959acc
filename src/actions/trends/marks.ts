/** Marks for API and commands: moments that people and programs name, such as deploys. */

import { bare, lineProblem } from '../../domain/values/one-line.ts';
import { type Instant, isoTime, MINUTE, type Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { deleteMark, type MarkRow } from '../../postgres/trends/marks.ts';
import { Refused } from '../subscribers/refused.ts';
import type { Checked } from '../subscribers/rules.ts';

export { addMark, listMarks } from '../../postgres/trends/marks.ts';

/** How far ahead of the database's clock a caller's clock may be. */
const SKEW: Milliseconds = MINUTE;

/** A mark as programs see it. */
export function markBody({ id, at, text, site }: MarkRow) {
  return { id: markName(id), at: isoTime(at), text, site };
}

export const markName = (id: number): string => `mrk_${id}`;

/** The words of a mark, without blanks around them. */
export function readMarkText(value: string): Checked<string> {
  const text = bare(value);
  const problem = lineProblem(text, 'a few words, such as "deploy 4.2"');
  return problem === null ? { is: text } : { problem };
}

/** When a mark was, or the problem with that moment: a mark is about what has happened. */
export function checkedMarkTime(at: Instant, now: Instant): Checked<Instant> {
  if (at > now + SKEW) return { problem: `must not be in the future; it is ${isoTime(now)} now. Leave it out for now` };
  return { is: Math.min(at, now) };
}

/** Deletes a mark; throws Refused, which names what lists marks. */
export async function removeMark(sql: Queries, id: number, listedBy: string): Promise<void> {
  if (!(await deleteMark(sql, id)))
    throw new Refused('mark_not_found', `there is no mark ${markName(id)}; ${listedBy} lists them`);
}
