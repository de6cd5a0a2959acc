/** Worlds of a few seeds keep every promise, and a seed replays to the byte. `npm run prove -- 1..1000` runs more of them. */
import { expect, test } from 'vitest';
import { worlds } from './worlds.ts';

test('worlds keep their promises whatever the plan of their seed breaks', async () => {
  const [several, alone] = await Promise.all([worlds('1..6'), worlds('6')]);
  expect(several).toHaveLength(6);
  expect(several.flatMap(({ seed, problems }) => problems.map((problem) => `${seed}: ${problem}`))).toEqual([]);
  expect(several.every(({ purchases, statements }) => purchases > 0 && statements > 500)).toBe(true);
  expect(several.at(-1)!.digest).toBe(alone[0]!.digest);
});
