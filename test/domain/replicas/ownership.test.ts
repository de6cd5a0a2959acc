import { expect, test } from 'vitest';
import { holdingsOf } from '../../../src/domain/replicas/ownership.ts';

test('of some shards those that are ours are held, each once, with its epoch', () => {
  const epochOf = (shard: number) => (shard === 7 ? null : shard * 10);
  expect(holdingsOf({ epochOf }, new Set([3, 7, 0, 3]))).toEqual([
    { shard: 3, epoch: 30 },
    { shard: 0, epoch: 0 },
  ]);
});
