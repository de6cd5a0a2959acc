import { expect, test } from 'vitest';
import { createHeldShards } from '../../../src/daemon/shards/held-shards.ts';
import { aLog } from '../notifier/parts.ts';

function held(...shards: (readonly [shard: number, epoch: number])[]) {
  const { log, logged } = aLog();
  const made = createHeldShards(log);
  const changes: unknown[] = [];
  made.onChange((change) => changes.push(change));
  const adopt = (...rows: (readonly [number, number])[]) => made.adopt(rows.map(([shard, epoch]) => ({ shard, epoch })));
  if (shards.length > 0) adopt(...shards);
  return { made, adopt, changes, logged };
}
/** Whether a promise is settled by now. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let is = false;
  void promise.then(() => {
    is = true;
  });
  await new Promise(setImmediate);
  return is;
}

test('memory follows the rows: what is new is gained, what is missing or has another epoch is lost', () => {
  const { made, adopt, changes, logged } = held([1, 10], [2, 10]);
  adopt([1, 10], [2, 12], [3, 1]);
  expect(logged.at(-1)).toMatchObject({ event: 'shards.changed', owned: 3, gained: 2, lost: 1 });
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

test('a shard that is taken is gained, and one that a statement found lost is lost at once', () => {
  const { made, changes } = held([1, 10]);
  made.take([{ shard: 5, epoch: 3 }]);
  expect([made.stays(5), made.stays(9), changes.at(-1)]).toEqual([true, false, { gained: [5], lost: [] }]);
  made.lost(1);
  made.lost(9);
  expect([made.owned(), changes.slice(2)]).toEqual([[5], [{ gained: [], lost: [1] }]]);
});

test('of two shards, the one that is to be given away goes', async () => {
  const { made } = held([1, 10], [2, 10]);
  made.leave([1]);
  await made.release(async () => undefined);
  expect(made.owned()).toEqual([2]);
});

test('after everything was forgotten, a shard whose release failed may be held again', async () => {
  const { made, adopt } = held([1, 10], [2, 10]);
  made.leave([1]);
  await expect(made.release(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  expect([made.clear(), made.size()]).toEqual([1, 0]);
  adopt([1, 10]);
  expect(made.size()).toBe(1);
});

test('work that ends on a shard that was lost, or that came back under the same epoch, leaves what is held as it is', async () => {
  const { made, adopt } = held([1, 10], [2, 10]);
  made.begin(1);
  made.begin(7);
  made.end(7, 10);
  made.lost(1);
  adopt([1, 10], [2, 10]);
  made.end(1, 10);
  made.leave('all');
  await made.release(async () => undefined);
  expect(made.size()).toBe(0);
});

test('a wait for a shard without work ends at once when there is one, or none is held, and otherwise when work ends or a shard is lost', async () => {
  const { made } = held([1, 10], [2, 10]);
  made.begin(1);
  expect(await isSettled(made.idle())).toBe(true);
  made.begin(2);
  const waits = made.idle();
  expect(await isSettled(waits)).toBe(false);
  made.end(2, 10);
  expect(await isSettled(waits)).toBe(true);
  made.begin(2);
  const rest = made.idle();
  made.lost(2);
  expect(await isSettled(rest)).toBe(false);
  made.lost(1);
  expect([await isSettled(rest), await isSettled(made.idle())]).toEqual([true, true]);
});
