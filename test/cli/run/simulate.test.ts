import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSimulator } from '../../../packages/simulator/src/simulator.ts';
import { refuseForeign, writeFastSettings } from '../../../src/cli/run/fast-settings.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { MACHINE_DIR, MACHINE_KEY } from '../../support/machine.ts';
import { listenForTest } from '../../support/not-http.ts';
import { followCommand, runCommand } from '../run.ts';

test.each([
  [['--site', 'shop'], 'Expected code:currency:country[:zone], such as my-shop:NOK:NOR:Europe/Oslo.'],
  [['--site', 'shop:kr:SWE'], 'currency: "kr" must be three capital letters, such as SEK'],
  [
    ['--site', 'shop:SEK:SWE:Mars'],
    'timeZone: "Mars" is not a time zone that this Node.js knows; write it like Europe/Stockholm',
  ],
  [
    ['--site', 's:SEK:SWE', '--site', 's:SEK:SWE'],
    'sites[1].code: "s" names a site a second time; give each site a code of its own',
  ],
  [['--client-id', ''], 'clientId: "" is empty; give one or more characters, or leave it out'],
  [['--time-scale', '0'], 'Expected a number greater than 0.'],
  [['--register', 'localhost:8080'], "Expected the address of a daemon's API, such as http://127.0.0.1:8080."],
])('simulate refuses %j, and says what to give', async (argv, message) => {
  const { exitCode, stderr } = await runCommand(['simulate', '--port', '0', ...argv]);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('the key of the machine goes to 127.0.0.1 where localhost was given, which may be the ::1 of another program', async () => {
  const shown: (string | undefined)[] = [];
  const server = createServer(({ headers }, answer) => {
    shown.push(headers.authorization);
    answer.writeHead(503).end();
  });
  const { port } = new URL(await listenForTest(server));
  const argv = ['simulate', '--port', '0', '--load', '6000', '--register', `http://localhost:${port}`];
  const command = followCommand(argv, { DATA_DIR: MACHINE_DIR });
  await expect.poll(() => shown[0]).toBe(`Bearer ${MACHINE_KEY}`);
  expect(command.stdout()).toMatch(new RegExp(`registered at +http://127\\.0\\.0\\.1:${port}\n`));
  await command.stop();
});

test('--fast overwrites no file that it has not written', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'mine.yaml');
  writeFileSync(file, 'sites: {}\n');
  const { exitCode, stderr } = await runCommand(['simulate', '--port', '0', '--fast', file]);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringContaining('was not written by this command, and would be lost; name another file'),
  ]);
  expect(readFileSync(file, 'utf8')).toBe('sites: {}\n');
});

test('--fast writes settings that a daemon takes, with every site as it is', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'fast.yaml');
  const simulator = createSimulator({
    ...{ port: 65_000, clientSecret: 'with "quotes": and #' },
    sites: [{ code: 'shop-fi', currency: 'EUR', country: 'FIN', timeZone: 'Europe/Helsinki' }],
  });
  for (const auth of ['both', 'basic'] as const) {
    refuseForeign(file);
    writeFastSettings(file, simulator, auth);
    const settings = loadSettings({ PURCHASE_WATCH_CONFIG: file });
    expect(settings.sites).toMatchObject([
      {
        ...{ name: 'shop-fi', timeZone: 'Europe/Helsinki', auth: auth === 'basic' ? 'basic' : 'oauth2' },
        ...{ baseUrl: 'http://127.0.0.1:65000', clientId: 'demo-client', clientSecret: 'with "quotes": and #' },
      },
    ]);
    expect(settings.policy.states.get(6)?.stuckAfter).toBe(10_000);
  }
});
