/** When the notifier reads the outbox and the subscribers; what a read brings is tested in delivery-loader.test.ts. */
import { expect, test } from 'vitest';
import { createLoading } from '../../../src/daemon/notifier/loading.ts';
import { setHealth } from '../../../src/daemon/notifier/subscribers/health-in-memory.ts';
import type { LaneHead } from '../../../src/postgres/deliveries/deliveries.ts';
import { aDelivery, aLog, aSubscriber, NOW } from './parts.ts';

const BLOCKED: LaneHead = { head: 1, subscriber: 1, lane: 1, position: 1, isReplayed: false, dueAt: NOW + 60_000, rank: 1 };

/** The loop beside what it asks, in the order of its steps. */
function loop() {
  const steps: string[] = [];
  const subscribers = [aSubscriber({ id: 1 }), aSubscriber({ id: 2 })];
  const state = {
    /** What a load has added, and has to put off. */
    added: 0,
    blocked: [] as LaneHead[],
    /** Whether a load left more for these. */
    wants: [] as number[],
    isDue: false,
    next: Number.POSITIVE_INFINITY,
    failure: null as Error | null,
    takesAll: true,
  };
  const statements: unknown[][] = [];
  const sql = Object.assign(
    (strings: readonly string[], ...values: unknown[]) => {
      if (strings.join('').includes('unnest(') && !strings.join('').includes('with waiting')) {
        statements.push(values);
        return strings.join('').includes('min(due.due_at)') ? Promise.resolve([{ at: null }]) : values;
      }
      if (strings.join('').includes('with waiting')) steps.push('put off');
      return Promise.resolve([{ at: null }]);
    },
    { unsafe: () => '' },
  );
  const started: number[] = [];
  const loading = createLoading({
    ...{ sql: sql as never, log: aLog().log, clock: { now: () => NOW } as never, ownership: { owned: () => [7] } as never },
    knownSubscribers: {
      ...{ active: () => subscribers, count: () => subscribers.length },
      refresh: async () => {
        steps.push('subscribers');
        if (state.failure !== null) throw state.failure;
        const is = {
          health: { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: null, lastError: 'No.' },
          unreached: null,
        };
        return [{ subscriber: subscribers[0]!, is, was: { health: null, unreached: null } }];
      },
    } as never,
    loader: {
      load: async (all: readonly unknown[], late: boolean) => {
        steps.push(`load ${all.length}${late ? ' late' : ''}`);
        return { blocked: state.blocked, added: state.added };
      },
      wants: ({ recipient }: (typeof subscribers)[number], parties: number) =>
        parties === 2 && state.wants.includes(recipient.id),
      takeNew: () => {
        steps.push('take');
        return state.takesAll;
      },
    } as never,
    startList: { add: ({ recipient }: (typeof subscribers)[number]) => void started.push(recipient.id) } as never,
    retryTimes: {
      isDue: () => state.isDue,
      next: () => state.next,
      refresh: async (read: () => Promise<unknown>) => {
        steps.push('retry times');
        await read();
      },
    } as never,
    read: async (work) => {
      steps.push('read');
      return work();
    },
  });
  return {
    ...{ loading, state, steps, started, statements, subscribers },
    /** The steps of a tick. */
    tick: async (): Promise<string[]> => {
      steps.length = 0;
      await loading.tick();
      return [...steps];
    },
  };
}

test('the subscribers are read before the first load, and after each change of them', async () => {
  const { loading, tick, started, subscribers } = loop();
  expect(await tick()).toEqual(['subscribers', 'read', 'load 2']);
  expect([started, subscribers[0]!.health.current?.failures]).toEqual([[1, 2], 4]);
  expect(await tick()).toEqual(['read', 'load 2']);
  loading.subscribersChanged();
  expect(await tick()).toEqual(['subscribers', 'read', 'load 2']);
});

test('without the subscribers nothing is loaded, and the next tick reads them', async () => {
  const { tick, state, steps } = loop();
  state.failure = new Error('the connection broke');
  await expect(tick()).rejects.toThrow('the connection broke');
  expect(steps).toEqual(['subscribers']);
  state.failure = null;
  expect(await tick()).toEqual(['subscribers', 'read', 'load 2']);
});

test('retries are read when one is due, and replays when they were requested; then the loop looks around', async () => {
  const { loading, tick, state, statements, subscribers } = loop();
  await tick();
  const late = ['read', 'load 2 late', 'subscribers', 'retry times'];
  loading.replayed();
  setHealth(subscribers[1]!.health, { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW + 9_000, lastError: 'No.' });
  expect(await tick()).toEqual(late);
  // What is due to one that is paused waits for the end of its pause.
  expect(statements.flat(2)).toContain('{1,2}');
  expect(statements.flat(2)).toContain(`{${NOW},${NOW + 9_000}}`);
  expect(await tick(), 'once').toEqual(['read', 'load 2']);
  state.isDue = true;
  expect(await tick()).toEqual(late);
});

test('deliveries behind an earlier one are put off', async () => {
  const { tick, state } = loop();
  state.blocked = [BLOCKED];
  expect(await tick()).toEqual(['subscribers', 'read', 'load 2', 'put off']);
});

test.each([
  ['at once, where there is more and some of it was loaded', { wants: [2], added: 1 }, 5],
  ['soon, where there is more and nothing could be loaded', { wants: [1], added: 0 }, 50],
  ['after five seconds, where nothing is known', {}, 5_000],
  ['at the next retry', { next: NOW + 700 }, 700],
  ['after five seconds, where the next retry is later', { next: NOW + 9_000 }, 5_000],
  ['at once, where a retry is due', { next: NOW - 10 }, 5],
])('the loop runs again %s', async (_, differs, rest) => {
  const { loading, state } = loop();
  Object.assign(state, differs);
  expect(await loading.tick()).toBe(rest);
});

test('the loop runs again when a pause ends', async () => {
  const { loading, subscribers } = loop();
  await loading.tick();
  setHealth(subscribers[1]!.health, { failures: 4, pauses: 1, failingSince: NOW, pausedUntil: NOW + 900, lastError: 'No.' });
  expect(await loading.tick()).toBe(900);
});

test('everything that is due is loaded at once where that is asked for', async () => {
  const { loading, steps } = loop();
  await loading.loadAll();
  expect(steps).toEqual(['subscribers', 'retry times', 'read', 'load 2 late']);
});

test('deliveries are taken as they are written once the loop runs, and go to those whom they concern', async () => {
  const { loading, tick, started, steps, state } = loop();
  const fresh = { rows: [aDelivery(1, { subscriber: 2 })], isComplete: true };
  expect([loading.takeNew(fresh), steps]).toEqual([false, []]);
  await tick();
  started.length = 0;
  expect([loading.takeNew(fresh), started]).toEqual([true, [2]]);
  state.takesAll = false;
  expect(loading.takeNew(fresh)).toBe(false);
});
