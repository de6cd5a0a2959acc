import { expect, test } from 'vitest';
import { createWrongKeys } from '../../../src/api/access/wrong-keys.ts';

function accounts() {
  const closing = new AbortController();
  const wrongKeys = createWrongKeys(() => 0);
  /** Sends wrong keys at once; answers how many wait, and ends their waiting. */
  const waitingOf = async (addresses: readonly string[]) => {
    const refused: boolean[] = [];
    const all = addresses.map((address) => wrongKeys.pay(address, closing.signal).then((paid) => paid || refused.push(true)));
    await Promise.resolve();
    closing.abort();
    await Promise.all(all);
    return addresses.length - refused.length;
  };
  return { waitingOf };
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
