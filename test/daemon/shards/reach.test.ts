import { expect, test } from 'vitest';
import { createReach, type Outside } from '../../../src/daemon/shards/reach.ts';
import { aLog } from '../notifier/parts.ts';

const MINUTE = 60_000;
const UNREACHED = { since: 4_000, error: 'No route.' };

function watched(...others: Outside[]) {
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
  const reach = createReach({ clock: clock as never, log, outsides: [outside, ...others], setAway: (is) => away.push(is) });
  const lookAt = async (at: number) => {
    state.at = at;
    await reach.tick();
    return away.at(-1);
  };
  return { state, reach, lookAt, logged, events: () => logged.map(({ event }) => event) };
}

test('a replica that reaches less than another one for half a minute leaves its shards, and alerts people', async () => {
  const { reach, lookAt, logged } = watched();
  expect([await lookAt(0), await lookAt(29_999), reach.troubles()]).toEqual([false, false, []]);
  expect(await lookAt(30_000)).toBe(true);
  expect(reach.troubles()).toEqual([{ reason: 'reaches_no_site', for: 26_000, error: 'No route.' }]);
  const said = {
    reason: 'reaches_no_site',
    detail: 'No route.',
    forAtMostMs: 5 * MINUTE,
    advice: expect.stringContaining('network'),
  };
  expect(logged).toMatchObject([{ event: 'replica.away', ...said }]);
});

test('where no other replica reaches more it keeps its shards', async () => {
  const { state, reach, lookAt } = watched();
  state.outdone = null;
  expect([await lookAt(0), await lookAt(MINUTE), reach.troubles()]).toEqual([false, false, []]);
  state.outdone = UNREACHED;
  expect(await lookAt(MINUTE + 1)).toBe(false);
});

test('it takes its share back when no other replica reaches more any longer, and that is no trouble of its own', async () => {
  const { state, reach, lookAt, events } = watched();
  for (const at of [0, 30_000]) await lookAt(at);
  state.outdone = null;
  expect([await lookAt(35_000), reach.troubles()]).toEqual([false, []]);
  expect(events()).toEqual(['replica.away', 'replica.tries_again']);
});

test('it comes back as soon as it reaches something', async () => {
  const { state, reach, lookAt, logged } = watched();
  for (const at of [0, 30_000]) await lookAt(at);
  state.stillFails = false;
  expect([await lookAt(35_000), reach.troubles()]).toEqual([false, []]);
  expect(logged).toMatchObject([{ event: 'replica.away' }, { event: 'replica.back', reason: 'reaches_no_site' }]);
});

test('it tries again after a while, and then leaves its shards for twice as long', async () => {
  const { reach, lookAt, logged, events } = watched();
  for (const at of [0, 30_000]) await lookAt(at);
  expect([await lookAt(5 * MINUTE), events()]).toEqual([true, ['replica.away']]);
  expect([await lookAt(30_000 + 5 * MINUTE), reach.troubles().length]).toEqual([false, 1]);
  expect(logged.at(-1)).toMatchObject({ event: 'replica.tries_again', reason: 'reaches_no_site' });
  expect([await lookAt(MINUTE + 5 * MINUTE), reach.troubles().length]).toEqual([true, 1]);
  expect(events()).toEqual(['replica.away', 'replica.tries_again', 'replica.away']);
});

test('while nothing may be wrong, nothing is asked', async () => {
  const { state, lookAt, events } = watched();
  state.mayFail = false;
  expect([await lookAt(0), await lookAt(MINUTE), events()]).toEqual([false, false, []]);
});

test('it leaves its shards for one kind of what it does not reach, whatever else it reaches', async () => {
  const reached: Outside = {
    reason: 'reaches_no_receiver',
    mayFail: () => false,
    outdone: async () => null,
    stillFails: async () => false,
  };
  const { reach, lookAt } = watched(reached);
  expect([await lookAt(0), await lookAt(30_000), reach.troubles().length]).toEqual([false, true, 1]);
});
