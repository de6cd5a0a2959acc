import { expect, test } from 'vitest';
import type { Act } from './act.ts';
import { planOf } from './plan.ts';

/** Every kind of act, so that one that is added is drawn, too. */
const KINDS: Record<Act['does'], true> = {
  registers: true,
  'registers again': true,
  kills: true,
  starts: true,
  stops: true,
  freezes: true,
  'cuts off': true,
  'changes settings': true,
  'reloads settings': true,
  upgrades: true,
  'stops all': true,
  'restarts the database': true,
  'copies the database': true,
  'goes back': true,
  'loses statements': true,
  'fails statements': true,
  'refuses connections': true,
  'refuses writes': true,
  'loses notifications': true,
  'holds the database': true,
  'steps a clock': true,
  'spoils answers': true,
  'spoils a receiver': true,
  'loses calls': true,
  'doubles calls': true,
  'slows the network': true,
  'asks for polls': true,
  silences: true,
  acknowledges: true,
  resumes: true,
  'stops watching': true,
  erases: true,
  'writes a row': true,
  oversteps: true,
  'undoes an order': true,
  wavers: true,
  replays: true,
  tests: true,
  'retries deliveries': true,
};
const seeds = Array.from({ length: 500 }, (_, seed) => seed + 1);

test('500 plans have every kind of act in at least ten of them, as JSON, in order, and the same when they are drawn again', () => {
  const plans = seeds.map(planOf);
  expect(JSON.parse(JSON.stringify(plans))).toEqual(seeds.map(planOf));
  for (const kind of Object.keys(KINDS))
    expect(plans.filter(({ acts }) => acts.some(({ does }) => does === kind)).length, kind).toBeGreaterThanOrEqual(10);
  for (const { acts, lasts } of plans) {
    const times = acts.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(lasts);
  }
});
