import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type BatchOptions, createBatcher } from '../../../src/runtime/loops/batch.ts';

/** A batcher whose flushes last until the test ends them. */
function held(options: Partial<BatchOptions> = {}) {
  const flushes: number[][] = [];
  const ends: (() => void)[] = [];
  const batcher = createBatcher<number>(
    (batch) => {
      flushes.push(batch);
      return new Promise((resolve) => ends.push(resolve));
    },
    { most: 3, parallel: 1, ...options },
  );
  /** Ends the flush that has run the longest, and lets what follows happen. */
  const end = async (): Promise<void> => {
    ends.shift()!();
    await turn();
  };
  return { batcher, flushes, end, running: () => ends.length };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

afterEach(() => {
  vi.useRealTimers();
});

describe('without lingering', () => {
  test('what is added in one turn goes together, at its end', async () => {
    const { batcher, flushes } = held();
    batcher.add(1);
    batcher.add(2);
    expect(flushes).toEqual([]);
    await turn();
    expect(flushes).toEqual([[1, 2]]);
  });

  test('what comes during a flush goes with the next, at most so many at once', async () => {
    const { batcher, flushes, end } = held();
    batcher.add(1);
    await turn();
    for (const item of [2, 3, 4, 5]) batcher.add(item);
    await turn();
    expect(flushes).toEqual([[1]]);
    await end();
    expect(flushes).toEqual([[1], [2, 3, 4]]);
    await end();
    expect(flushes.at(-1)).toEqual([5]);
  });

  test('a full batch does not wait for the end of the turn', () => {
    const { batcher, flushes } = held();
    for (const item of [1, 2, 3]) batcher.add(item);
    expect(flushes).toEqual([[1, 2, 3]]);
  });
});

describe('with lingering', () => {
  test('an item waits for company, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { batcher, flushes, end } = held({ linger: () => 50 });
    batcher.add(1);
    vi.advanceTimersByTime(49);
    batcher.add(2);
    expect(flushes).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(flushes).toEqual([[1, 2]]);
    batcher.add(3);
    await end();
    expect(flushes).toHaveLength(1);
    vi.advanceTimersByTime(50);
    expect(flushes).toEqual([[1, 2], [3]]);
  });

  test('a full batch goes at once', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { batcher, flushes } = held({ linger: () => 50 });
    for (const item of [1, 2, 3]) batcher.add(item);
    expect(flushes).toEqual([[1, 2, 3]]);
  });

  test('after a full batch, the next item lingers as long as any', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { batcher, flushes, end } = held({ linger: () => 50 });
    batcher.add(1);
    vi.advanceTimersByTime(30);
    for (const item of [2, 3]) batcher.add(item);
    await end();
    batcher.add(4);
    vi.advanceTimersByTime(49);
    expect(flushes).toEqual([[1, 2, 3]]);
    vi.advanceTimersByTime(1);
    expect(flushes).toEqual([[1, 2, 3], [4]]);
  });

  test('draining does not wait for company', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { batcher, flushes, end } = held({ linger: () => 50 });
    batcher.add(1);
    const drained = batcher.drain();
    expect(flushes).toEqual([[1]]);
    batcher.add(2);
    await end();
    await end();
    await drained;
    expect(flushes).toEqual([[1], [2]]);
  });
});

describe('with spacing', () => {
  /** Flushes end at once; times are those of their starts. */
  function timed(options: Partial<BatchOptions>) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'queueMicrotask'] });
    const begun = performance.now();
    const flushes: [number, number][] = [];
    const batcher = createBatcher<number>(async (batch) => void flushes.push([performance.now() - begun, batch.length]), {
      most: 100,
      parallel: 1,
      ...options,
    });
    /** Adds one every so often. */
    const stream = async (count: number, every: number): Promise<void> => {
      for (let added = 0; added < count; added++) {
        batcher.add(added);
        await vi.advanceTimersByTimeAsync(every);
      }
    };
    return { batcher, flushes, stream };
  }

  test('one that comes alone goes at once, and in a stream one flush takes along what came meanwhile', async () => {
    const { flushes, stream } = timed({ spacing: () => 10 });
    await stream(1, 100);
    await stream(30, 1);
    await vi.advanceTimersByTimeAsync(100);
    expect(flushes).toEqual([
      [0, 1],
      [100, 1],
      [110, 9],
      [120, 10],
      [130, 10],
    ]);
  });

  test('a burst goes at once after a quiet while, and a stream gains no more by it than that', async () => {
    const { flushes, stream } = timed({ spacing: () => 10, burst: 3 });
    await stream(3, 2);
    await vi.advanceTimersByTimeAsync(100);
    expect(flushes).toEqual([
      [0, 1],
      [2, 1],
      [4, 1],
    ]);
    flushes.length = 0;
    await stream(60, 1);
    const times = flushes.map(([at]) => at - 106);
    expect(times).toEqual([0, 1, 2, 10, 20, 30, 40, 50, 60]);
  });

  test('a spacing that grows or shrinks holds from the next flush on', async () => {
    let spacing = 10;
    const { flushes, stream } = timed({ spacing: () => spacing });
    await stream(20, 1);
    spacing = 20;
    await stream(60, 1);
    spacing = 5;
    await stream(30, 1);
    const times = flushes.map(([at]) => at);
    expect(times).toEqual([0, 10, 20, 30, 50, 70, 90, 95, 100, 105, 110]);
  });

  test('full batches go whenever they are full, and nobody waits for longer than the spacing because of them', async () => {
    const { batcher, flushes, stream } = timed({ spacing: () => 10, burst: 3, most: 5 });
    for (let item = 0; item < 100; item++) batcher.add(item);
    await vi.advanceTimersByTimeAsync(0);
    expect(flushes.every(([at, size]) => at === 0 && size === 5)).toBe(true);
    flushes.length = 0;
    await stream(1, 10);
    expect(flushes).toEqual([[10, 1]]);
  });
});

test('no more flushes run at once than allowed', async () => {
  const { batcher, flushes, end, running } = held({ most: 1, parallel: 2 });
  for (const item of [1, 2, 3, 4]) batcher.add(item);
  expect(running()).toBe(2);
  await end();
  expect(running()).toBe(2);
  expect(flushes).toEqual([[1], [2], [3]]);
});

test('counts what waits and what is being flushed', async () => {
  const { batcher, end } = held();
  for (const item of [1, 2, 3, 4]) batcher.add(item);
  expect(batcher.pending()).toBe(4);
  await end();
  expect(batcher.pending()).toBe(1);
  await end();
  expect(batcher.pending()).toBe(0);
});

test('draining ends when the last flush has, and at once when there is nothing', async () => {
  const { batcher, end } = held();
  await batcher.drain();
  for (const item of [1, 2, 3, 4]) batcher.add(item);
  let drained = false;
  const draining = Promise.all([batcher.drain(), batcher.drain()]).then(() => {
    drained = true;
  });
  await end();
  expect(drained).toBe(false);
  await end();
  await draining;
});

test('draining waits for every flush that runs, and what is added meanwhile goes at once', async () => {
  const { batcher, flushes, end } = held({ linger: () => 60_000, parallel: 2 });
  batcher.add(1);
  let drained = false;
  const draining = batcher.drain().then(() => {
    drained = true;
  });
  batcher.add(2);
  expect(flushes).toEqual([[1], [2]]);
  await end();
  expect(drained).toBe(false);
  await end();
  await draining;
});

test('every item is flushed once and in order, however additions and flushes fall together', async () => {
  const plan = fc.record({
    most: fc.integer({ min: 1, max: 4 }),
    steps: fc.array(fc.constantFrom('add', 'add', 'end', 'turn'), { maxLength: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ most, steps }) => {
      const { batcher, flushes, end, running } = held({ most });
      let added = 0;
      for (const step of steps) {
        if (step === 'add') batcher.add(added++);
        else if (step === 'end' && running() > 0) await end();
        else await turn();
        expect(running()).toBeLessThanOrEqual(1);
      }
      const drained = batcher.drain();
      while (running() > 0) await end();
      await drained;
      expect(flushes.flat()).toEqual(Array.from({ length: added }, (_, index) => index));
      expect(flushes.every((batch) => batch.length > 0 && batch.length <= most)).toBe(true);
    }),
  );
});
