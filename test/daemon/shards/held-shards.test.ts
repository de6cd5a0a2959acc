import { expect, test } from 'vitest';
import { createHeldShards } from '../../../src/daemon/shards/held-shards.ts';
import { aLog } from '../notifier/parts.ts';

function held(...shards: (readonly [shard: number, epoch: number])[]) {
  const made = createHeldShards(aLog().log);
  const changes: unknown[] = [];
  made.onChange((change) => changes.push(change));
  const adopt = (...rows: (readonly [number, number])[]) => made.adopt(rows.map(([shard, epoch]) => ({ shard, epoch })));
  if (shards.length > 0) adopt(...shards);
  return { made, adopt, changes };
}

test('memory follows the rows: what is new is gained, what is missing or has another epoch is lost', () => {
  const { made, adopt, changes } = held([1, 10], [2, 10]);
  adopt([1, 10], [2, 12], [3, 1]);
  expect(changes).toEqual([
    { gained: [1, 2], lost: [] },
    { gained: [2, 3], lost: [2] },
  ]);
  adopt([1, 10], [2, 12], [3, 1]);
  expect([changes.length, made.epochOf(2), made.epochOf(9), made.size()]).toEqual([2, 12, null, 3]);
});

test('a shard that is to be given away is used no more, and goes once nothing is under way on it', async () => {
  const { made, changes } = held([1, 10], [2, 10]);
  made.begin(1);
  made.leave([1, 2]);
  expect([made.owned(), made.stays(1), made.epochOf(1)]).toEqual([[], false, 10]);
  const written: number[][] = [];
  await made.release(async (shards) => written.push(shards));
  expect([written, made.size(), changes.at(-1)]).toEqual([[[2]], 1, { gained: [], lost: [2] }]);
  made.end(1, 10);
  await made.release(async (shards) => written.push(shards));
  expect([written.at(-1), made.size()]).toEqual([[1], 0]);
});

test('a release that is not confirmed may still happen: the shard stays unused until its epoch moves', async () => {
  const { made, adopt } = held([1, 10]);
  made.leave([1]);
  await expect(made.release(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  adopt([1, 10]);
  expect(made.size()).toBe(0);
  adopt([1, 11]);
  expect(made.owned()).toEqual([1]);
});

test('work from before the shard was lost and came back does not end that of now', async () => {
  const { made, adopt } = held([1, 10]);
  made.begin(1);
  adopt([1, 11]);
  made.begin(1);
  made.end(1, 10);
  made.leave('all');
  await made.release(async () => undefined);
  expect(made.size()).toBe(1);
  made.end(1, 11);
  await made.idle();
  await made.release(async () => undefined);
  expect(made.size()).toBe(0);
});

test('what comes after all shards are to be given away is not used either, and all can be forgotten', () => {
  const { made, adopt, changes } = held([1, 10]);
  made.leave('all');
  adopt([1, 10], [2, 1]);
  expect(made.owned()).toEqual([]);
  expect([made.clear(), changes.at(-1)]).toEqual([2, { gained: [], lost: [1, 2] }]);
});
