import { expect, test } from 'vitest';
import { createIdle } from '../../../src/runtime/loops/idle.ts';

/** How many have been let go, looked at when everything that was resolved has had its turn. */
function counted() {
  let busy = 0;
  let gone = 0;
  const idle = createIdle(() => busy);
  return {
    wait: () => void idle.wait().then(() => (gone += 1)),
    rouse: (now: number) => {
      busy = now;
      idle.rouse();
    },
    begin: (now: number) => {
      busy = now;
    },
    gone: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return gone;
    },
  };
}

test('nobody waits while nothing is under way', async () => {
  const idle = counted();
  idle.wait();
  expect(await idle.gone()).toBe(1);
});

test('everybody waits until the last thing under way has ended', async () => {
  const idle = counted();
  idle.begin(2);
  idle.wait();
  idle.wait();
  idle.rouse(1);
  expect(await idle.gone()).toBe(0);
  idle.rouse(0);
  expect(await idle.gone()).toBe(2);
});

test('whoever comes later waits for what began later', async () => {
  const idle = counted();
  idle.begin(1);
  idle.wait();
  idle.rouse(0);
  idle.begin(1);
  idle.wait();
  expect(await idle.gone()).toBe(1);
  idle.rouse(0);
  expect(await idle.gone()).toBe(2);
});

test('nobody to be let go is no trouble', () => {
  const idle = createIdle(() => 0);
  expect(() => idle.rouse()).not.toThrow();
});
