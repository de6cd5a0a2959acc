/** Text of one line, as references, names and ids are. */

export const LONGEST_TEXT = 200;
const UNSEEN = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** The problem with a text of one line, or null; `what` names the text for a person who gave none. */
export function lineProblem(value: string, what: string): string | null {
  const length = [...value].length;
  if (value === '') return `is empty; give ${what}`;
  if (length > LONGEST_TEXT) return `is ${length} characters long; at most ${LONGEST_TEXT} are accepted`;
  if (!value.isWellFormed()) return 'holds half of a character (a lone surrogate); send well-formed Unicode';
  // Line and paragraph separators count as control characters for some databases.
  return /[\p{Cc}\u2028\u2029]/u.test(value) ? 'holds a control character such as a line break or tab; leave it out' : null;
}

/** Without blanks and characters that cannot be seen at its ends. */
export function bare(value: string): string {
  let [from, to] = [0, value.length];
  // One expression for the end would cost the square of a long run of blanks.
  while (from < to && UNSEEN.test(value[from]!)) from += 1;
  while (from < to && UNSEEN.test(value[to - 1]!)) to -= 1;
  return value.slice(from, to);
}
