import { expect, test } from 'vitest';
import { createReach, type Outside } from '../../../src/daemon/shards/reach.ts';
import { aLog } from '../notifier/parts.ts';

const MINUTE = 60_000;
const UNREACHED = { since: 0, error: 'No route.' };

function watched() {
  const state = { mayFail: true, outdone: UNREACHED as typeof UNREACHED | null, stillFails: true, at: 0 };
  const away: boolean[] = [];
  const { log, logged } = aLog();
  const outside: Outside = {
    reason: 'reaches_no_site',
    mayFail: () => state.mayFail,
    outdone: async () => state.outdone,
    stillFails: async () => state.stillFails,
  };
  const clock = { now: () => state.at, monotonic: () => state.at };
  const reach = createReach({ clock: clock as never, log, outsides: [outside], setAway: (is) => away.push(is) });
  const lookAt = async (at: number) => {
    state.at = at;
    await reach.tick();
    return away.at(-1);
  };
  return { state, reach, lookAt, events: () => logged.map(({ event }) => event) };
}

test('a replica that reaches less than another one for half a minute leaves its shards, and alerts people', async () => {
  const { reach, lookAt, events } = watched();
  expect([await lookAt(0), await lookAt(29_999), reach.troubles()]).toEqual([false, false, []]);
  expect(await lookAt(30_000)).toBe(true);
  expect(reach.troubles()).toEqual([{ reason: 'reaches_no_site', for: 30_000, error: 'No route.' }]);
  expect(events()).toEqual(['replica.away']);
});

test('where no other replica reaches more it keeps its shards', async () => {
  const { state, reach, lookAt } = watched();
  state.outdone = null;
  expect([await lookAt(0), await lookAt(MINUTE), reach.troubles()]).toEqual([false, false, []]);
});

test('it comes back as soon as it reaches something', async () => {
  const { state, reach, lookAt, events } = watched();
  for (const at of [0, 30_000]) await lookAt(at);
  state.stillFails = false;
  expect([await lookAt(35_000), reach.troubles()]).toEqual([false, []]);
  expect(events()).toEqual(['replica.away', 'replica.back']);
});

test('it tries again after a while, and then leaves its shards for twice as long', async () => {
  const { reach, lookAt, events } = watched();
  for (const at of [0, 30_000]) await lookAt(at);
  expect([await lookAt(5 * MINUTE), await lookAt(30_000 + 5 * MINUTE)]).toEqual([true, false]);
  expect([await lookAt(MINUTE + 5 * MINUTE), reach.troubles().length]).toEqual([true, 1]);
  expect(events()).toEqual(['replica.away', 'replica.tries_again', 'replica.away']);
});

test('while nothing may be wrong, nothing is asked', async () => {
  const { state, lookAt } = watched();
  state.mayFail = false;
  state.outdone = null;
  expect(await lookAt(MINUTE)).toBe(false);
});
