import { afterEach, expect, test, vi } from 'vitest';
import { createWrongKeys } from '../../../src/api/access/wrong-keys.ts';
import { createLogger } from '../../../src/runtime/logger.ts';

afterEach(() => void vi.useRealTimers());

function accounts() {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) > 0 } as unknown as NodeJS.WritableStream;
  let now = 0;
  const closing = new AbortController();
  const wrongKeys = createWrongKeys(createLogger({ level: 'info', destination }), () => now);
  const wait = (milliseconds: number) => {
    now += milliseconds;
  };
  /** Sends wrong keys at once; answers how many wait, and ends their waiting. */
  const waitingOf = async (addresses: readonly string[]) => {
    const refused: boolean[] = [];
    const all = addresses.map((address) => wrongKeys.pay(address, closing.signal).then((paid) => paid || refused.push(true)));
    await Promise.resolve();
    closing.abort();
    await Promise.all(all);
    return addresses.length - refused.length;
  };
  return { wrongKeys, lines, wait, waitingOf };
}

test('ten answers wait for one address, whatever it sends; all of an IPv6 /64 and both forms of IPv4 are one', async () => {
  expect(await accounts().waitingOf(Array.from({ length: 50 }, () => '192.0.2.1'))).toBe(10);
  expect(await accounts().waitingOf(Array.from({ length: 50 }, (_, index) => `2001:db8::${index}`))).toBe(10);
  expect(await accounts().waitingOf(Array.from({ length: 30 }, (_, index) => `2001:db8:0:${index}::1`))).toBe(30);
  expect(
    await accounts().waitingOf(Array.from({ length: 50 }, (_, index) => (index % 2 ? '::ffff:192.0.2.1' : '192.0.2.1'))),
  ).toBe(10);
});

test('forty answers wait in all, however many addresses a flood comes from', async () => {
  expect(await accounts().waitingOf(Array.from({ length: 5_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`))).toBe(40);
});

test('each wrong key has a line, until a hundred came at once: then one a second, and a line that counts the others', () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { wrongKeys, lines, wait } = accounts();
  for (let sent = 0; sent < 10_000; sent += 1) wrongKeys.logRefusal({ address: '192.0.2.1' }, 'api.key_refused');
  expect(lines.length).toBe(100);
  for (let second = 0; second < 30; second += 1) {
    wait(1_000);
    for (let sent = 0; sent < 5; sent += 1) wrongKeys.logRefusal({}, 'api.key_refused');
  }
  expect(lines.length).toBe(130);
  vi.advanceTimersByTime(60_000);
  expect(JSON.parse(lines[130]!)).toMatchObject({ level: 'warn', event: 'api.refusals_unlogged', count: 9_900 + 120 });
  vi.advanceTimersByTime(600_000);
  expect(lines.length).toBe(131);
});
