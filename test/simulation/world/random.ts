/** Random numbers that a seed fixes (sfc32). */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  /** Whether something with this probability happens. */
  chance(share: number): boolean;
  one<T>(of: readonly T[]): T;
  /** Begins again with another seed. */
  reseed(seed: number): void;
}

export function createRandom(first: number): Random {
  let [a, b, c, d] = [0, 0, 0, 0];
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return (t >>> 0) / 2 ** 32;
  };
  const reseed = (seed: number): void => {
    [a, b, c, d] = [0x9e3779b9 ^ seed, 0x243f6a88, Math.imul(seed, 0x9e3779b1), 1];
    for (let i = 0; i < 16; i++) next();
  };
  reseed(first);
  const below = (limit: number): number => Math.floor(next() * limit);
  return { next, below, chance: (share) => next() < share, one: (of) => of[below(of.length)]!, reseed };
}
