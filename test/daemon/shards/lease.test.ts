import { expect, test } from 'vitest';
import { createLease, leaseTimes } from '../../../src/daemon/shards/lease.ts';

const TTL = 10_000;
function lease() {
  const at = { monotonic: 5_000, wall: 1_800_000_000_000 };
  return { at, made: createLease({ monotonic: () => at.monotonic, wall: () => at.wall }, TTL) };
}

test('it has ended at first, and lasts from when the renewal was asked for', () => {
  const { at, made } = lease();
  expect(made.outlasts(0)).toBe(false);
  const confirm = made.renew();
  at.monotonic += 4_000;
  at.wall += 4_000;
  expect(made.outlasts(0)).toBe(false);
  confirm();
  expect([made.outlasts(TTL - 4_001), made.outlasts(TTL - 4_000)]).toEqual([true, false]);
});

test('a machine that was suspended has no lease, and one whose clock was corrected has', () => {
  const { at, made } = lease();
  made.renew()();
  at.wall += 4_999;
  expect(made.outlasts(0)).toBe(true);
  at.wall += 1;
  expect(made.outlasts(0)).toBe(false);
  made.renew()();
  expect(made.outlasts(0)).toBe(true);
});

test('without a wall clock the monotonic one decides', () => {
  const made = createLease({ monotonic: () => 0 }, TTL);
  made.renew()();
  expect(made.outlasts(TTL - 1)).toBe(true);
});

test('an attempt that begins after three renewals failed ends within the lease', () => {
  const { renewEvery, ttl } = leaseTimes(15_000);
  expect(ttl - 3 * renewEvery).toBeGreaterThan(15_000);
});
