import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createQueue } from '../../../../src/daemon/notifier/subscribers/queue.ts';

test('it gives what an array gives, however it is used', () => {
  const uses = fc.array(fc.constantFrom('push', 'push', 'unshift', 'shift'), { maxLength: 200 });
  fc.assert(
    fc.property(uses, (all) => {
      const [queue, array] = [createQueue<number>(), [] as number[]];
      for (const [item, use] of all.entries()) {
        if (use === 'shift') expect(queue.shift()).toBe(array.shift());
        else for (const each of [queue, array]) each[use as 'push'](item);
      }
    }),
  );
});

test('a long one gives all of it in order, and takes items in front', () => {
  const queue = createQueue<number>();
  for (let item = 0; item < 3_000; item++) queue.push(item);
  for (let item = 0; item < 1_500; item++) expect(queue.shift()).toBe(item);
  queue.unshift(-1);
  expect([queue.shift(), queue.shift()]).toEqual([-1, 1_500]);
});
