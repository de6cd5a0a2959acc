import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createTurns } from '../../../../src/daemon/poller/sites/turns.ts';

const PATIENCE = 60_000;

test('turns come in the order of asking, one at a time', async () => {
  const turns = createTurns();
  const came: string[] = [];
  const waiting = ['first', 'second'].map((name) => turns.wait({ patience: PATIENCE }).then((turn) => turn && came.push(name)));
  expect(turns.waiting).toBe(2);
  turns.next();
  await waiting[0];
  expect([came, turns.waiting]).toEqual([['first'], 1]);
  turns.next();
  await waiting[1];
  expect([came, turns.waiting]).toEqual([['first', 'second'], 0]);
});

test('whoever loses patience, or is not interested any more, leaves the line', async () => {
  const turns = createTurns();
  const controller = new AbortController();
  const gone = turns.wait({ patience: PATIENCE, signal: controller.signal });
  const impatient = turns.wait({ patience: 1 });
  controller.abort();
  expect([await gone, await impatient, turns.waiting]).toEqual([false, false, 0]);
  expect(await turns.wait({ patience: PATIENCE, signal: controller.signal })).toBe(false);
});

test('everybody can be sent away', async () => {
  const turns = createTurns();
  const waiting = [turns.wait({ patience: PATIENCE }), turns.wait({ patience: PATIENCE })];
  turns.dismiss();
  expect([...(await Promise.all(waiting)), turns.waiting]).toEqual([false, false, 0]);
});

test('after a turn nothing is left that waits, and a turn that nobody waits for is none', async () => {
  vi.useFakeTimers();
  const turns = createTurns();
  const { signal } = new AbortController();
  const waiting = turns.wait({ patience: PATIENCE, signal });
  turns.next();
  turns.next();
  expect([await waiting, vi.getTimerCount(), getEventListeners(signal, 'abort')]).toEqual([true, 0, []]);
  vi.useRealTimers();
});
