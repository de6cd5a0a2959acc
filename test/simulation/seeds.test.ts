/** A few worlds with every change; CI runs a hundred others. */
import { expect, test } from 'vitest';
import { worlds } from './worlds.ts';

test('worlds keep their promises', async () => {
  const run = await worlds('201..206');
  expect(run).toHaveLength(6);
  expect(run.flatMap(({ seed, problems }) => problems.map((problem) => `${seed}: ${problem}`))).toEqual([]);
}, 120_000);
