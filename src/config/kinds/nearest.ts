/** The known name someone probably meant. */

/** Steps between two words: a letter added, dropped, changed, or two neighbours swapped. */
export function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const now = [row];
    for (let column = 1; column <= b.length; column++) {
      const changed = last[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      let steps = Math.min(changed, last[column]! + 1, now[column - 1]! + 1);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        steps = Math.min(steps, beforeLast[column - 2]! + 1);
      }
      now.push(steps);
    }
    beforeLast = last;
    last = now;
  }
  return last[b.length]!;
}

/** So many letters, of a word or of a name cut short, say enough. */
const TELLING = 4;

/** Characters. Comparing costs the product of the lengths, and a name that long is no slip of the finger. */
const LONGEST = 100;

/**
 * The known name that was meant, or null when none is near enough. Case does not count. A name cut short wins over one
 * that takes fewer steps (WaitingForCard means WaitingForCardPayments, stat means status, not start); then one of which a
 * letter or two are wrong; then a name that has all the words in the same order (CHECKOUT_SECRET means CHECKOUT_CLIENT_SECRET); then the fewest steps.
 */
export function nearest(given: string, known: readonly string[]): string | null {
  if (given.length > LONGEST) return null;
  const simple = given.toLowerCase();
  const byLength = known.toSorted((a, b) => a.length - b.length);
  const whole = given.length < TELLING ? undefined : byLength.find((name) => name.toLowerCase().startsWith(simple));
  if (whole !== undefined) return whole;
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const most = Math.max(1, Math.floor(Math.max(given.length, name.length) * 0.4));
    // Each letter that one has more is a step.
    if (Math.abs(given.length - name.length) > most) continue;
    const steps = distance(simple, name.toLowerCase());
    if (steps < fewest && steps <= most) {
      best = name;
      fewest = steps;
    }
  }
  if (fewest <= (given.length > 2 * TELLING ? 2 : 1)) return best;
  // With a letter too few, too many, or wrong.
  const isSlip = (name: string) =>
    given.length > TELLING &&
    name.length >= given.length - 2 &&
    [-1, 0, 1].some((more) => distance(simple, name.toLowerCase().slice(0, given.length + more)) <= 1);
  return byLength.find((name) => leavesOut(given, name)) ?? best ?? byLength.find(isSlip) ?? null;
}

/** The words of NAMES_LIKE_THIS, names-like-this and namesLikeThis. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** In a long word one slip is forgiven. */
function isSameWord(given: string, word: string): boolean {
  return given === word || (word.length > TELLING && distance(given, word) <= 1);
}

/** Whether a name of several words has words of the known one only, in the same order. */
export function leavesOut(given: string, name: string): boolean {
  const words = wordsOf(given);
  let at = 0;
  for (const word of wordsOf(name)) if (at < words.length && isSameWord(words[at]!, word)) at += 1;
  return words.length > 1 && at === words.length;
}

/** The end of a sentence about an unknown name: ` (did you mean X?)`, or nothing. */
export function suggestion(given: string, known: readonly string[]): string {
  const name = nearest(given, known);
  return name === null ? '' : ` (did you mean ${name}?)`;
}
