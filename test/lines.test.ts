import { expect, test } from 'vitest';
import { countLines } from '../tools/lines.ts';

/** Code lines at most: the figures of the last commit that made them smaller. A change that needs more says why in its commit. */
const MOST = { src: 62_102, all: 66_094, core: 18_474 };

test('the core is read in a day, and no change adds lines unnoticed', () => {
  const { src, all, core } = countLines();
  expect(core.lines).toBeLessThanOrEqual(MOST.core);
  expect(src.lines).toBeLessThanOrEqual(MOST.src);
  expect(all.lines).toBeLessThanOrEqual(MOST.all);
  // A figure that was won is kept.
  expect(MOST.core - core.lines).toBeLessThan(500);
});
