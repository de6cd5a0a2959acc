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

/** The nearest known name, or null when none is near enough to be what was meant. Case does not count. */
export function nearest(given: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  const simple = (text: string) => text.toLowerCase();
  for (const name of known) {
    const steps = distance(simple(given), simple(name));
    if (steps < fewest && steps <= Math.max(1, Math.floor(Math.max(given.length, name.length) * 0.4))) {
      best = name;
      fewest = steps;
    }
  }
  // A word cut short is many steps away and still clear.
  return best ?? known.find((name) => given.length >= 4 && simple(name).startsWith(simple(given))) ?? null;
}

/** The end of a sentence about an unknown name: ` (did you mean X?)`, or nothing. */
export function suggestion(given: string, known: readonly string[]): string {
  const name = nearest(given, known);
  return name === null ? '' : ` (did you mean ${name}?)`;
}
