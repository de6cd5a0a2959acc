import { expect, test } from 'vitest';
import { createRetryTimes } from '../../../src/daemon/notifier/retry-times.ts';

function retries() {
  const clock = { at: 1_000_000 };
  const read = () => clock.at;
  return { clock, times: createRetryTimes({ now: read, monotonic: read }, 5_000) };
}

test('the database is asked at first, and again after a while', async () => {
  const { clock, times } = retries();
  expect(times.isDue()).toBe(true);
  await times.refresh(async () => null);
  expect([times.isDue(), times.next()]).toEqual([false, clock.at + 5_000]);
  clock.at += 5_000;
  expect(times.isDue()).toBe(true);
});

test('the database is asked again although the next retry that it knew is due much later', async () => {
  const { clock, times } = retries();
  await times.refresh(async () => clock.at + 60_000);
  clock.at += 4_999;
  expect(times.isDue()).toBe(false);
  clock.at += 1;
  expect(times.isDue()).toBe(true);
});

test('what is due at once waits for others of the next moment', async () => {
  const { clock, times } = retries();
  await times.refresh(async () => clock.at - 60_000);
  expect([times.isDue(), times.next()]).toEqual([false, clock.at + 250]);
  clock.at += 250;
  expect(times.isDue()).toBe(true);
});

test('the earlier of two times counts, and only it wakes the loop', async () => {
  const { clock, times } = retries();
  await times.refresh(async () => clock.at + 3_000);
  expect([times.note(clock.at + 3_001), times.note(clock.at + 1_000), times.note(clock.at + 2_000)]).toEqual([
    false,
    true,
    false,
  ]);
  expect([times.next(), times.note(clock.at + 1_000)]).toEqual([clock.at + 1_000, false]);
});

test('a failure that is noted while the database is asked is not forgotten', async () => {
  const { clock, times } = retries();
  await times.refresh(async () => {
    times.note(clock.at + 300);
    return clock.at + 4_000;
  });
  expect(times.next()).toBe(clock.at + 300);
});
