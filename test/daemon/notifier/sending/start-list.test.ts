import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createStartList } from '../../../../src/daemon/notifier/sending/start-list.ts';
import { aSubscriber } from '../parts.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function list() {
  const wake = vi.fn();
  return { wake, starts: createStartList({ wake }) };
}
const [shop, books] = [aSubscriber(), aSubscriber()];

test('subscribers start in the order in which they were added, each once', () => {
  const { wake, starts } = list();
  for (const each of [shop, books, shop]) starts.add(each);
  expect([starts.take(), starts.take(), starts.take()]).toEqual([shop, books, undefined]);
  expect(wake).toHaveBeenCalledTimes(3);
});

test('who waited for a slot comes before those that have just sent', () => {
  const { wake, starts } = list();
  starts.addWhenFree(books);
  expect(starts.take()).toBeUndefined();
  starts.add(shop);
  wake.mockClear();
  starts.slotFreed();
  expect(wake).toHaveBeenCalledOnce();
  expect([starts.take(), starts.take()]).toEqual([books, shop]);
  starts.slotFreed();
  expect(starts.take()).toBeUndefined();
  // A slot for which nobody waits wakes nobody, and keeps nobody back.
  expect(wake).toHaveBeenCalledOnce();
  starts.addWhenFree(books);
  starts.slotFreed();
  expect(starts.take()).toBe(books);
});

test('a subscriber that rests has one timer', () => {
  const { wake, starts } = list();
  starts.addIn(shop, 1_000);
  starts.addIn(shop, 10);
  vi.advanceTimersByTime(999);
  expect(starts.take()).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect([starts.take(), starts.take(), wake.mock.calls.length]).toEqual([shop, undefined, 1]);
  starts.addIn(shop, 5);
  vi.advanceTimersByTime(5);
  expect(starts.take()).toBe(shop);
});
