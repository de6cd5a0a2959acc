/** `npm run test:fuzz` sends 200 000 hostile inputs. `FUZZ_SEED=7 FUZZ_INPUTS=20000 npm run test:fuzz` sends other ones, and fewer. */
import { expect, test } from 'vitest';
import { fuzz } from './fuzz.ts';

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const INPUTS = Number(process.env.FUZZ_INPUTS ?? 200_000);

test(`${INPUTS} hostile inputs with seed ${SEED} break nothing`, async () => {
  const { faults, counts } = await fuzz({ seed: SEED, inputs: INPUTS, report: (line) => console.info(line) });
  expect(faults).toEqual([]);
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(INPUTS);
});
