/** How the recorder paces its statements, and how it takes what the database answers to them: without a database. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DecidedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import { createRecorder } from '../../../src/daemon/poller/recorder.ts';
import type { Entry } from '../../../src/daemon/poller/window/entries.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation } from '../../../src/domain/purchases/purchase.ts';
import type { Recorded } from '../../../src/postgres/polling/record.ts';
import { answer, aPurchase, trouble } from '../../support/a-purchase.ts';

type Options = Parameters<typeof createRecorder>[0];
type Rows = readonly { readonly id: number | null; readonly shard: number | null; readonly delivery: null }[];
type Step = () => Rows | Promise<Rows>;

const NOW = 1_800_000_000_000;
const CHANGED = answer(1);
const UNCHANGED = trouble('malformed');
const refusal = Object.assign(new Error('refused'), { code: '23514' });
const late = Object.assign(new Error('late'), { code: '55P03' });
const broken = Object.assign(new Error('broken'), { code: '42P01' });

const throwing = (error: Error): Step => {
  return () => {
    throw error;
  };
};
const written =
  (...ids: number[]): Step =>
  () => [...ids.map((id) => ({ id, shard: null, delivery: null })), { id: null, shard: 0, delivery: null }];

/** What the database does with each statement that writes, in order, and with each question for locked rows. */
let steps: Step[];
let questions: Step[];
/** The statements that wrote: whether they can write changes. */
let statements: ('changed' | 'unchanged')[];
let asked: number;
/** What the recorder said, in order. */
let said: unknown[];
let results: Recorded[];

const sql = Object.assign(
  (strings: readonly string[]) => ({
    // biome-ignore lint/suspicious/noThenProperty: a statement of the driver is sent when it is awaited.
    then: (resolve: (rows: unknown) => void, reject: (error: unknown) => void) => {
      const text = strings.join('');
      const write = () => {
        statements.push(text.includes('transition as') ? 'changed' : 'unchanged');
        return steps.shift()!();
      };
      const run = text.includes('written as (') ? write : text.includes('unlocked as') ? ask : () => [];
      void Promise.resolve().then(run).then(resolve, reject);
    },
  }),
  { unsafe: () => ({}) },
);
const ask = async (): Promise<Rows> => {
  asked += 1;
  return (await (questions.shift() ?? written())()).filter(({ id }) => id !== null);
};

beforeEach(() => {
  vi.useFakeTimers();
  [steps, questions, statements, said, results] = [[], [], [], [], []];
  asked = 0;
});
afterEach(() => vi.useRealTimers());

const idsOf = (polls: readonly { readonly entry: Entry }[]): number[] => polls.map(({ entry }) => entry.purchase.id);

const recorderWith = (differs: Partial<Options> = {}) =>
  createRecorder({
    sql: sql as unknown as Options['sql'],
    replica: 'me',
    repair: async () => false,
    insteadOf: (poll) => [poll],
    onRecorded: (polls, result) => {
      said.push(['recorded', ...idsOf(polls)]);
      results.push(result);
    },
    onRepaired: (polls) => said.push(['repaired', ...idsOf(polls)]),
    onLocked: (polls, inAll) => said.push(['locked', ...idsOf(polls), 'of', inAll]),
    onRefused: (poll, error) => said.push(['refused', poll.entry.purchase.id, error]),
    onFailed: (polls, error, isPoison) => said.push([isPoison ? 'poison' : 'failed', ...idsOf(polls), error]),
    ...differs,
  });

function polled(id: number, seen: Observation, { gone = false, isFirst = true } = {}): DecidedPoll {
  const known = isFirst ? {} : { state: 0, stateSince: NOW, seenAt: NOW, sequence: 1, polls: 1 };
  const purchase = aPurchase({ id, watchedSince: NOW, ...known });
  const outcome = decide(purchase, seen, { askedAt: NOW, now: NOW, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 });
  const entry = { purchase, epoch: 3, slot: 1, gone } as Entry;
  return { entry, stays: true, decided: { outcome, askedAt: NOW, now: NOW, slot: 1 } };
}
/** Polls of purchases that left memory are answered for without a statement: they show when batches leave. */
function* lost(seen: Observation, count: number, isFirst = true): Generator<DecidedPoll> {
  for (let id = 1; id <= count; id++) yield polled(id, seen, { gone: true, isFirst });
}

/** What the recorder says of polls that come at once. */
async function saidOf(
  polls: readonly DecidedPoll[],
  differs?: Partial<Options>,
  recorder = recorderWith(differs),
): Promise<unknown[]> {
  for (const poll of polls) recorder.add(poll);
  await recorder.drain();
  return said;
}

test.each([
  { polls: 499, wait: 250 },
  { polls: 500, wait: 50 },
])('polls without a change wait $wait ms for company after $polls of them came within a quarter of a second', async (given) => {
  const recorder = recorderWith();
  /** Adds polls, and answers that a batch is written after so many milliseconds, and not before. */
  const isWrittenAfter = async (polls: number, wait: number) => {
    said = [];
    for (const poll of lost(UNCHANGED, polls)) recorder.add(poll);
    await vi.advanceTimersByTimeAsync(wait - 1);
    const before = said.length;
    await vi.advanceTimersByTimeAsync(1);
    return [before, said.length];
  };
  expect(await isWrittenAfter(1, 250)).toEqual([0, 1]);
  expect(await isWrittenAfter(given.polls, 250)).toEqual([0, 1]);
  expect(await isWrittenAfter(1, given.wait)).toEqual([0, 1]);
  // One poll in that time is leisure again.
  expect(await isWrittenAfter(1, 250)).toEqual([0, 1]);
});

test.each([
  { speed: 'at leisure', before: 1, spacing: 10 },
  { speed: 'at full speed', before: 500, spacing: 25 },
])('fifteen changes in a row are written at once, and the next ones after $spacing ms: $speed', async ({ before, spacing }) => {
  for (const isFirst of [true, false]) {
    const recorder = recorderWith();
    for (const polls of [1, before]) {
      for (const poll of lost(UNCHANGED, polls)) recorder.add(poll);
      await vi.advanceTimersByTimeAsync(250);
    }
    said = [];
    for (const poll of lost(CHANGED, 17, isFirst)) {
      recorder.add(poll);
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(said).toHaveLength(15);
    await vi.advanceTimersByTimeAsync(spacing - 1);
    expect(said).toHaveLength(15);
    await vi.advanceTimersByTimeAsync(1);
    expect(said.at(-1)).toEqual(['recorded', 16, 17]);
  }
});

test('what takes no statement names no lost shard, no event and no delivery', async () => {
  await saidOf([...lost(CHANGED, 1)]);
  expect(results).toMatchObject([{ ids: new Set(), lostShards: [], events: 0 }]);
  expect(statements).toEqual([]);
});

test('a statement that waited too long for locks is tried three times, and its rows are asked for before each new try', async () => {
  steps = [throwing(late), throwing(late), throwing(late), written(1, 2)];
  expect(await saidOf([polled(1, CHANGED), polled(2, CHANGED)])).toEqual([['failed', 1, 2, late]]);
  expect([statements.length, asked]).toEqual([3, 2]);
});

test('rows that are found locked are left out, and nothing is said to be recorded where all are', async () => {
  steps = [throwing(late), written(2)];
  questions = [written(1), written(1)];
  const recorder = recorderWith();
  for (const id of [1, 2]) recorder.add(polled(id, CHANGED));
  await recorder.drain();
  recorder.add(polled(1, CHANGED));
  await recorder.drain();
  expect(said).toEqual([
    ['locked', 1, 'of', 1],
    ['recorded', 2],
    ['locked', 1, 'of', 1],
  ]);
});

test('polls whose locks cannot be asked for are given back, and nothing is written', async () => {
  steps = [throwing(late)];
  questions = [throwing(broken)];
  expect(await saidOf([polled(1, CHANGED), polled(2, CHANGED)])).toEqual([['failed', 1, 2, broken]]);
  expect(statements).toHaveLength(1);
});

test('of two purchases with one row id, the second one is recorded though the lock of the first cannot be asked for', async () => {
  steps = [throwing(broken), written(1)];
  questions = [throwing(late)];
  const recorder = recorderWith();
  await saidOf([polled(1, CHANGED)], {}, recorder);
  expect(await saidOf([polled(1, CHANGED), polled(1, CHANGED)], {}, recorder)).toEqual([
    ['failed', 1, broken],
    ['failed', 1, late],
    ['recorded', 1],
  ]);
});

test.each([
  { what: 'a second statement of changes begins while the first one is under way', isFirst: false, begun: 2 },
  { what: 'first sights are written by one statement after the other', isFirst: true, begun: 1 },
])('$what', async ({ isFirst, begun }) => {
  const first = Promise.withResolvers<Rows>();
  steps = [() => first.promise, written(2)];
  const recorder = recorderWith();
  for (const id of [1, 2]) {
    recorder.add(polled(id, CHANGED, { isFirst }));
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(statements).toHaveLength(begun);
  first.resolve(await written(1)());
  await recorder.drain();
  expect(statements).toHaveLength(2);
});

test('a refused poll whose row was repaired is neither refused nor recorded', async () => {
  steps = [throwing(refusal)];
  expect(await saidOf([polled(1, CHANGED)], { repair: async () => true })).toEqual([['repaired', 1]]);
});

test('a refused poll whose purchase left memory meanwhile is answered for, and not called refused', async () => {
  const poll = polled(1, CHANGED);
  steps = [
    () => {
      Object.assign(poll.entry, { gone: true });
      throw refusal;
    },
  ];
  expect(await saidOf([poll])).toEqual([['recorded', 1]]);
});

test('the first poll that the database takes in place of a refused one is recorded', async () => {
  steps = [throwing(refusal), throwing(refusal), written(1)];
  const [alarm, quiet] = [polled(1, CHANGED), polled(1, UNCHANGED)];
  expect(await saidOf([polled(1, CHANGED)], { insteadOf: () => [alarm, quiet] })).toEqual([
    ['refused', 1, refusal],
    ['recorded', 1],
  ]);
  expect(statements).toEqual(['changed', 'changed', 'unchanged']);
});

test.each([
  { what: 'is refused, too, is poison', answered: refusal, said: 'poison' },
  { what: 'cannot be written at present is given back', answered: broken, said: 'failed' },
])('a refused poll whose last replacement $what', async ({ answered, said: word }) => {
  steps = [throwing(refusal), throwing(answered)];
  expect(await saidOf([polled(1, CHANGED)])).toEqual([
    ['refused', 1, refusal],
    [word, 1, answered],
  ]);
});

test('each statement that recorded polls is measured in seconds, and those that failed or were refused are only traced', async () => {
  const took: number[] = [];
  const counts: number[] = [];
  const traced: unknown[] = [];
  const meter = { took: { add: (value: number) => took.push(value) }, polls: { add: (value: number) => counts.push(value) } };
  const traces = {
    recorded: (polls: readonly Entry[], began: number, result: Recorded | null) =>
      traced.push([...polls.map(({ purchase }) => purchase.id), began, result?.ids.size]),
  };
  vi.advanceTimersByTime(40);
  const begun = performance.now();
  steps = [
    () => {
      vi.advanceTimersByTime(250);
      return written(1, 2)();
    },
    throwing(broken),
    throwing(refusal),
    written(4),
  ];
  const recorder = recorderWith({ meter, traces } as unknown as Partial<Options>);
  const record = async (...polls: DecidedPoll[]) => {
    for (const poll of polls) recorder.add(poll);
    await recorder.drain();
  };
  await record(polled(1, CHANGED), polled(2, CHANGED));
  await record(polled(3, CHANGED));
  await record(polled(4, CHANGED));
  expect([took, counts]).toEqual([[0.25], [2]]);
  expect(traced).toEqual([
    [1, 2, begun, 2],
    [3, begun + 250, undefined],
    [4, begun + 250, undefined],
  ]);
});
