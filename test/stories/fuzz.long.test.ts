/** A small part of the fuzz run, the same each time. `npm run test:fuzz` is the whole. */
import { expect, test } from 'vitest';
import { fuzz } from '../fuzz/fuzz.ts';

test('hostile inputs through every door leave the daemon as it was', async () => {
  const { faults, counts } = await fuzz({ seed: 1, inputs: 300 });
  expect(faults).toEqual([]);
  expect(Object.values(counts).every((count) => count >= 20)).toBe(true);
}, 180_000);
