/** A guard of the product: a piece of code on which a promise rests. */
export interface Guard {
  /** In words that name no other guard. */
  readonly name: string;
  /** The promise that falls without it, as a user would say it. */
  readonly promise: string;
  /** The file that has it, from the root of the repository. */
  readonly file: string;
  /** The text of the guard, which occurs once in its file, and the text that takes its place. */
  readonly from: string;
  readonly to: string;
}

/** A file without one of its guards. Throws when the file does not have the guard's text exactly once. */
export function without({ name, file, from, to }: Guard, source: string): string {
  const found = source.split(from).length - 1;
  if (found !== 1)
    throw new Error(`${name}: ${file} has the text of this guard ${found} times; correct its entry in test/simulation/sabotage`);
  return source.replace(from, () => to);
}
