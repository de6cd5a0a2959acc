/** Random numbers that repeat for the same seed, so that a test or a demo can be run again exactly. */

/** A number in [0, 1). */
export type Random = () => number;

/** Starts a sequence: a counter with a large odd stride, its bits mixed until neighbours have nothing in common. */
export function createRandom(seed: number): Random {
  let counter = seed | 0;
  return () => {
    counter = (counter + 0x61c88647) | 0;
    let bits = Math.imul(counter ^ (counter >>> 15), 0x2c1b3c6d);
    bits = Math.imul(bits ^ (bits >>> 12), 0x297a2d39);
    return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** One of the given values. */
export function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

/** A whole number from `least` to `most`, both included. */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** So many decimal digits. */
export function digits(random: Random, count: number): string {
  let text = '';
  for (let n = 0; n < count; n++) text += Math.floor(random() * 10);
  return text;
}

/** So many letters and digits that look like a token. */
export function tokenText(random: Random, length: number): string {
  const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789';
  let text = '';
  for (let n = 0; n < length; n++) text += alphabet[Math.floor(random() * alphabet.length)];
  return text;
}

/** An id in the form of a random UUID. */
export function uuid(random: Random): string {
  const word = (): string =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const [a, b, c, d] = [word(), word(), word(), word()];
  const variant = '89ab'[Math.floor(random() * 4)];
  return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${variant}${c.slice(1, 4)}-${c.slice(4)}${d}`;
}
