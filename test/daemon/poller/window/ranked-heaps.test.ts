import { expect, test } from 'vitest';
import { createRankedHeaps } from '../../../../src/daemon/poller/window/ranked-heaps.ts';
import type { PollRank } from '../../../../src/domain/polling/poll-rank.ts';

const entry = (name: string, rank: PollRank, dueAt: number) => ({ name, rank, dueAt, gone: false, busy: false });
function heaps(...entries: ReturnType<typeof entry>[]) {
  const all = createRankedHeaps<ReturnType<typeof entry>>();
  for (const each of entries) all.push(each);
  return all;
}

test('of what is due the first rank comes, and in it the earliest', () => {
  const all = heaps(entry('b', 2, 1), entry('a', 0, 9), entry('c', 2, 0), entry('later', 0, 11));
  expect([1, 2, 3, 4].map(() => all.pop(10)?.name)).toEqual(['a', 'c', 'b', undefined]);
  expect(all.nextDue()).toBe(11);
});

test('the next one due is the earliest of any rank', () => {
  expect(
    [heaps(entry('a', 0, 5), entry('b', 3, 9)), heaps(entry('a', 0, 9), entry('b', 3, 5))].map((all) => all.nextDue()),
  ).toEqual([5, 5]);
});

test('bulk registrations have their turn although more urgent ones wait', () => {
  const all = heaps(
    ...Array.from({ length: 20 }, (_, at) => entry(`u${at}`, 0, 0)),
    entry('ordinary', 2, 0),
    entry('bulk', 3, 0),
  );
  const turns = Array.from({ length: 8 }, () => {
    const { name } = all.pop(0)!;
    all.nextTurn();
    return name;
  });
  expect(turns.filter((name) => !name.startsWith('u'))).toEqual(['ordinary', 'bulk']);
});

test('what is gone or busy is passed over, and nothing is left after a clearance', () => {
  const [gone, busy, left] = [entry('gone', 1, 0), entry('busy', 1, 1), entry('left', 1, 2)];
  const all = heaps(gone, busy, left);
  Object.assign(gone, { gone: true });
  Object.assign(busy, { busy: true });
  expect([all.nextDue(), all.pop(5)?.name, all.nextDue()]).toEqual([2, 'left', null]);
  all.push(left);
  all.clear();
  expect(all.pop(5)).toBeNull();
});
