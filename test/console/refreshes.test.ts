/** Rounds in which open pages ask for themselves again, by a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRefreshes, type Refreshes } from '../../src/console/refreshes.ts';

let refreshes: Refreshes;
/** Which page was refreshed when, as `page@milliseconds`. */
let seen: string[];

beforeEach(() => {
  vi.useFakeTimers({ now: 0, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  refreshes = createRefreshes(() => Date.now());
  seen = [];
});
afterEach(() => {
  vi.useRealTimers();
});

function open(name: string): { refresh(): void } {
  const page = { refresh: () => void seen.push(`${name}@${Date.now()}`) };
  refreshes.add(page);
  return page;
}
/** Makes an answer that takes so long. */
const making = (text: string, took = 0) =>
  vi.fn(async () => {
    vi.setSystemTime(Date.now() + took);
    return text;
  });

test('refreshes each page after a change, one after the other, and again when what follows the change is there', async () => {
  open('a');
  open('b');
  refreshes.changed();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual(['b@0', 'a@20', 'b@2000', 'a@2020', 'b@10000', 'a@10020']);
});

test('begins at most one round a second, however much changes', async () => {
  open('a');
  for (let change = 0; change < 50; change++) {
    refreshes.changed();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(seen).toEqual(['a@0', 'a@1000', 'a@2000', 'a@3000', 'a@4000', 'a@5000']);
  // The last change was at 4.9 s.
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seen.slice(6)).toEqual(['a@6900', 'a@14900']);
});

test('a page that opens after a change is refreshed with the others, and a closed page is not', async () => {
  const closed = open('a');
  refreshes.changed();
  await vi.advanceTimersByTimeAsync(500);
  open('b');
  refreshes.remove(closed);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seen).toEqual(['a@0', 'b@2000', 'b@10000']);
});

test('the slower pages are made, the longer the others wait', async () => {
  for (const name of ['a', 'b', 'c']) open(name);
  refreshes.changed();
  await refreshes.answer('c', making('c', 50));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(seen).toEqual(['c@50', 'b@1050', 'a@2050']);
  await refreshes.answer('a', making('a', 60_000));
  seen = [];
  await vi.advanceTimersByTimeAsync(5_000);
  const [first] = seen.map((each) => Number(each.slice(2)));
  expect(seen).toEqual([`c@${first}`, `b@${first! + 2_000}`, `a@${first! + 4_000}`]);
});

test('pages that ask for the same in one round share an answer; a new round, a change by a person or five seconds end that', async () => {
  open('a');
  refreshes.changed();
  await vi.advanceTimersByTimeAsync(0);
  const [first, other, next, forgotten, late] = ['first', 'other', 'next', 'forgotten', 'late'].map((text) => making(text));
  expect(await refreshes.answer('/ of a key', first!)).toBe('first');
  expect(await refreshes.answer('/ of another key', other!)).toBe('other');
  expect(await refreshes.answer('/ of a key', next!)).toBe('first');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await refreshes.answer('/ of a key', next!)).toBe('next');
  refreshes.forget();
  expect(await refreshes.answer('/ of a key', forgotten!)).toBe('forgotten');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await refreshes.answer('/ of a key', late!)).toBe('late');
  for (const made of [first, other, next, forgotten, late]) expect(made).toHaveBeenCalledTimes(1);
});

test('an answer that cannot be made fails for those who asked for it', async () => {
  const failing = async (): Promise<string> => {
    throw new Error('no database');
  };
  await expect(refreshes.answer('/', failing)).rejects.toThrow('no database');
});
