import { afterEach, expect, test, vi } from 'vitest';
import { createLineBudget } from '../../../src/api/access/line-budget.ts';
import { createLogger } from '../../../src/runtime/logger.ts';

afterEach(() => void vi.useRealTimers());

const REJECTED = { key: null, address: '192.0.2.1', call: 'GET /v1/purchases', code: 'invalid_request' };

function budget() {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const written: string[] = [];
  const destination = { write: (line: string) => written.push(line) > 0 } as unknown as NodeJS.WritableStream;
  let now = 0;
  const lines = createLineBudget(createLogger({ level: 'info', destination }), () => now);
  const wait = (milliseconds: number) => {
    now += milliseconds;
    vi.advanceTimersByTime(milliseconds);
  };
  return { lines, wait, written: () => written.map((line) => JSON.parse(line)) };
}

test('forty lines may come at once, then one each two seconds, and a line counts the others by event', () => {
  const { lines, wait, written } = budget();
  for (let sent = 0; sent < 10_000; sent += 1)
    lines.warn({ reason: 'unknown', address: '192.0.2.1', call: 'GET /v1/purchases' }, 'api.key_refused');
  expect(written().length).toBe(40);
  for (let second = 0; second < 30; second += 1) {
    wait(1_000);
    for (let sent = 0; sent < 5; sent += 1) lines.info(REJECTED, 'api.request_rejected');
  }
  expect(written().length).toBe(55);
  wait(30_000);
  const events = { 'api.key_refused': 9_960, 'api.request_rejected': 150 - 15 };
  expect(written()[55]).toMatchObject({ level: 'warn', event: 'api.unlogged', count: 10_095, events });
  wait(600_000);
  expect(written().length).toBe(56);
});

const failing = (message: string) => new Error(message);

test('a fault has its stack once; a new one is logged however many lines came before it', () => {
  const { lines, written } = budget();
  const fault = (error: unknown) => lines.fault(error, { method: 'GET', path: '/' });
  const same = [0, 1, 2, 3].map((time) => failing(`for the time ${time}`));
  for (const error of same.slice(0, 3)) fault(error);
  const [first, ...later] = written();
  expect(first).toMatchObject({ level: 'error', event: 'api.failed', error: { stack: expect.stringContaining('line-budget') } });
  expect(later.map(({ error }) => error)).toEqual([1, 2].map((time) => ({ name: 'Error', message: `for the time ${time}` })));
  for (let sent = 0; sent < 100; sent += 1) lines.info(REJECTED, 'api.request_rejected');
  const before = written().length;
  fault(same[3]);
  expect(written().length).toBe(before);
  fault(new TypeError('a new one'));
  expect(written().at(-1)).toMatchObject({ error: { name: 'TypeError', message: 'a new one' } });
  // Whatever is thrown, no flood of different faults becomes a flood of stacks.
  for (let sent = 0; sent < 1_000; sent += 1) {
    const error = failing('one of many');
    error.name = `Error${sent}`;
    fault(error);
  }
  expect(written().length).toBeLessThan(before + 101);
});
