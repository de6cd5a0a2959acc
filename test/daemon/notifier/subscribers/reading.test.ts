import { expect, test } from 'vitest';
import { createReading } from '../../../../src/daemon/notifier/subscribers/reading.ts';

const seen = ({ mayHoldMore, readUntil, isCaughtUp }: ReturnType<typeof createReading>) => ({
  mayHoldMore,
  readUntil,
  isCaughtUp,
});

test('a load that found all that is new has caught up, until more is expected', () => {
  const reading = createReading();
  expect(seen(reading)).toEqual({ mayHoldMore: true, readUntil: 0, isCaughtUp: false });
  reading.begin()(500, false);
  expect(seen(reading)).toEqual({ mayHoldMore: false, readUntil: 500, isCaughtUp: true });
  reading.expectMore(false);
  expect(reading.isCaughtUp).toBe(true);
  reading.expectMore(true);
  expect(seen(reading)).toEqual({ mayHoldMore: true, readUntil: 500, isCaughtUp: false });
});

test.each([
  ['found more than it could take', (_: ReturnType<typeof createReading>) => true],
  ['did not see what was committed meanwhile', (reading: ReturnType<typeof createReading>) => void reading.expectMore(true)],
])('a load that %s has not caught up', (_, meanwhile) => {
  const reading = createReading();
  const end = reading.begin();
  end(500, meanwhile(reading) === true);
  expect(seen(reading)).toEqual({ mayHoldMore: true, readUntil: 500, isCaughtUp: false });
});

test('a restart while a load is under way: the next load reads from the beginning', () => {
  const reading = createReading();
  const end = reading.begin();
  reading.restart();
  end(500, false);
  expect(seen(reading)).toEqual({ mayHoldMore: true, readUntil: 0, isCaughtUp: false });
});

test('a restart takes back what the loads before it have found, and those that end after it', () => {
  const reading = createReading();
  reading.begin()(500, false);
  const end = reading.begin();
  reading.restart();
  expect(seen(reading)).toEqual({ mayHoldMore: true, readUntil: 0, isCaughtUp: false });
  reading.begin();
  end(600, false);
  expect(reading).toMatchObject({ readUntil: 0, isCaughtUp: false });
});

test('the highest delivery that was found is known', () => {
  const reading = createReading();
  for (const id of [5, 9, 7]) reading.found(id);
  expect(reading.highestRead).toBe(9);
});
