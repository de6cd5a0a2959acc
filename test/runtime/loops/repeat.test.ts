import { afterEach, expect, test } from 'vitest';
import { type Loop, type LoopOptions, repeat } from '../../../src/runtime/loops/repeat.ts';

/** A clock whose rests last until the test ends them. */
function heldClock() {
  const rests: number[] = [];
  let end = () => {};
  return {
    rests,
    /** The present rest is over. */
    wakeUp: () => end(),
    sleep: (duration: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        rests.push(duration);
        end = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
        if (signal.aborted) resolve();
      }),
  };
}

/** Lets everything that is ready have its turn. */
const turns = async (count = 5): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

let loop: Loop | null = null;
afterEach(() => loop?.stop());

function start(tick: () => Promise<number>, options: Partial<LoopOptions> = {}) {
  const clock = heldClock();
  const errors: unknown[] = [];
  loop = repeat(tick, { clock, onError: (error) => errors.push(error), ...options });
  return { clock, errors, loop };
}

test('ticks, rests for as long as the tick says, and ticks again', async () => {
  let ticks = 0;
  const { clock } = start(async () => ++ticks * 100);
  await turns();
  expect([ticks, clock.rests]).toEqual([1, [100]]);
  clock.wakeUp();
  await turns();
  expect([ticks, clock.rests]).toEqual([2, [100, 200]]);
});

test('a wake-up ends the rest', async () => {
  let ticks = 0;
  const { loop } = start(async () => {
    ticks += 1;
    return 60_000;
  });
  await turns();
  loop.wake();
  await turns();
  expect(ticks).toBe(2);
});

test('a wake-up during a tick makes the next one follow at once, and only the next', async () => {
  let ticks = 0;
  const { clock } = start(async () => {
    ticks += 1;
    await turns(1);
    if (ticks === 1) loop!.wake();
    return 60_000;
  });
  await turns();
  expect([ticks, clock.rests]).toEqual([2, [60_000]]);
});

test('ticks never overlap, however often the loop is woken', async () => {
  let running = 0;
  let most = 0;
  const { loop } = start(async () => {
    most = Math.max(most, ++running);
    await turns(2);
    running -= 1;
    return 0;
  });
  for (let wake = 0; wake < 20; wake++) {
    loop.wake();
    await turns(1);
  }
  expect(most).toBe(1);
});

test('a failed tick is told, rested from, and followed by the next', async () => {
  let ticks = 0;
  const ended: number[] = [];
  const { clock, errors } = start(
    async () => {
      ticks += 1;
      if (ticks === 1) throw new Error('no connection');
      return 100;
    },
    { restAfterError: 700, onTick: () => ended.push(ticks) },
  );
  await turns();
  expect([errors, clock.rests, ended]).toEqual([[new Error('no connection')], [700], []]);
  clock.wakeUp();
  await turns();
  expect([ticks, clock.rests, ended]).toEqual([2, [700, 100], [2]]);
});

test('a failing tick that was woken meanwhile rests all the same', async () => {
  let ticks = 0;
  const { clock } = start(async () => {
    ticks += 1;
    await turns(1);
    loop!.wake();
    throw new Error('no connection');
  });
  await turns(20);
  expect([ticks, clock.rests]).toEqual([1, [1_000]]);
});

test('work without end lets others have their turn', async () => {
  let ticks = 0;
  start(async () => {
    ticks += 1;
    return 0;
  });
  await turns(10);
  expect(ticks).toBeGreaterThan(1);
  expect(ticks).toBeLessThan(20);
});

test('stops in the middle of a rest', async () => {
  let ticks = 0;
  const { loop } = start(async () => {
    ticks += 1;
    return 60_000;
  });
  await turns();
  await loop.stop();
  await turns();
  expect(ticks).toBe(1);
});

test('a stop waits for the tick that runs, and no other follows, whoever wakes it', async () => {
  let finish = () => {};
  let ticks = 0;
  const { loop } = start(async () => {
    ticks += 1;
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return 0;
  });
  let stopped = false;
  const stopping = loop.stop().then(() => {
    stopped = true;
  });
  loop.wake();
  await turns();
  expect(stopped).toBe(false);
  finish();
  await stopping;
  loop.wake();
  await turns();
  expect(ticks).toBe(1);
});
