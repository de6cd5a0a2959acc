import { expect, test } from 'vitest';
import {
  begin,
  end,
  holdBack,
  isHeldBack,
  newPace,
  noteMessage,
  restUntil,
} from '../../../../src/daemon/notifier/subscribers/pace.ts';

test('retries and replays in flight are counted apart', () => {
  const pace = newPace();
  begin(pace, false);
  begin(pace, true);
  expect(pace).toMatchObject({ inFlight: 2, lateInFlight: 1 });
  end(pace, true);
  end(pace, false);
  expect(pace).toEqual(newPace());
});

test('of messages of several replicas the latest counts', () => {
  const pace = newPace();
  for (const at of [5, 9, 7]) noteMessage(pace, at);
  expect(pace.takenAt).toBe(9);
});

test('a subscriber is held back until the moment that its pause names', () => {
  const now = 1_800_000_000_000;
  const held = [null, now, now + 5_000].map((heldUntil) => isHeldBack({ heldUntil }, now));
  expect(held).toEqual([false, false, true]);
  const pace = newPace();
  holdBack(pace, now + 5_000);
  restUntil(pace, 70);
  expect([isHeldBack(pace, now), pace.notBefore]).toEqual([true, 70]);
  holdBack(pace, null);
  expect(isHeldBack(pace, now)).toBe(false);
});
