import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHeap } from '../../../../src/daemon/poller/window/heap.ts';

const earliestFirst = () => createHeap<number>((a, b) => a < b);

test('an empty heap has nothing', () => {
  const heap = earliestFirst();
  expect([heap.size, heap.peek(), heap.pop(), heap.size]).toEqual([0, undefined, undefined, 0]);
});

test('what comes out is always the earliest of what is in', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 50 })), { maxLength: 200 }), (steps) => {
      const heap = earliestFirst();
      const inside: number[] = [];
      for (const item of steps) {
        if (item === null) expect(heap.pop()).toBe(inside.shift());
        else {
          heap.push(item);
          inside.push(item);
          inside.sort((a, b) => a - b);
        }
        expect([heap.size, heap.peek()]).toEqual([inside.length, inside[0]]);
      }
      while (inside.length > 0) expect(heap.pop()).toBe(inside.shift());
    }),
  );
});
