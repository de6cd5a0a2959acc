import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin/purchase-watch.mjs', import.meta.url));
const DATA_DIR = mkdtempSync(join(tmpdir(), 'purchase-watch-demo-'));
// When the tests run as root, the server's user must be able to enter.
chmodSync(DATA_DIR, 0o755);
afterAll(() => rmSync(DATA_DIR, { recursive: true, force: true }));

/** What a newcomer must see, in this order. */
const BEATS = [
  /embedded Postgres in .*, made just now/,
  /1 {2}Customers shop/,
  /first seen: New .*webhook ✓/,
  /→ Completed .*webhook ✓/,
  /2 {2}One customer does not come back from the bank/,
  /│ 🟠 demo-fi: 1 checkout stuck waiting for the card payment provider for 2\d s/,
  /Each stuck checkout here alerts, because only \d+ stays? (?:is|are) counted/,
  /│ ✅ demo-fi: the stuck checkout got on \(Completed\)/,
  /3 {2}Now the page of demo-se breaks/,
  /demo-se .*STUCK in WaitingForCardPayments after 1\d s/,
  /4 {2}Slack gets one message/,
  /│ 🔴 demo-se: \d+ customers stuck waiting for the card payment provider/,
  /5 {2}The page is fixed/,
  /All of them have moved on/,
  /│ ✅ demo-se: no longer stuck/,
  /6 {2}What you saw/,
  /customers were stuck, all of them moved on, and Slack got 4 messages/,
];

test('the demo tells its story from the first purchase to the recovery', { timeout: 300_000 }, async () => {
  const child = spawn(process.execPath, [BIN, 'demo', '--once'], { env: { DATA_DIR }, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (complaints += chunk));
  const [code] = await once(child, 'close');

  expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
  let rest = text;
  for (const beat of BEATS) {
    const found = beat.exec(rest);
    expect(found, `${beat} is missing in its place:\n${text}`).not.toBeNull();
    rest = rest.slice(found!.index + found![0].length);
  }
  // When the first customer pays by invoice is drawn; that some do is not.
  expect(text).toMatch(/invoice of \d+\.\d\d (?:SEK|EUR), due \d{4}-\d\d-\d\d .*webhook ✓/);
  expect(text).not.toContain('\u001b');
  expect(text).not.toMatch(/takes longer than it should|not good/);
  expect(readFileSync(join(DATA_DIR, 'demo/demo.log'), 'utf8')).not.toMatch(/"level":"(?:error|fatal)"/);
});
