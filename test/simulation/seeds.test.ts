/** Two short worlds with every change, and a seed replays to the byte, also after another one. CI runs thirty other worlds. */
import { expect, test } from 'vitest';
import { worlds } from './worlds.ts';

test('worlds keep their promises, and a seed replays to the byte', async () => {
  const [several, alone] = await Promise.all([worlds('225..226'), worlds('226')]);
  expect(several).toHaveLength(2);
  expect(several.flatMap(({ seed, problems }) => problems.map((problem) => `${seed}: ${problem}`))).toEqual([]);
  expect(several.every(({ purchases, statements }) => purchases > 0 && statements > 500)).toBe(true);
  expect(several.at(-1)!.digest).toBe(alone[0]!.digest);
}, 120_000);
