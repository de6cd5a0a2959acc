/** `open`: which address, from where, and what happens without a browser. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SITE } from '../../config/files.ts';
import { MACHINE_DIR } from '../../support/machine.ts';
import { runCommand } from '../run.ts';

const server = createServer((_, response) => response.writeHead(303, { location: '/signin' }).end());
let port = 0;
const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
const asked = join(folder, 'asked');
const environment = join(folder, 'environment');
beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** An opener that notes its address, in a desktop or without one. */
function desktop({ exitCode = 0, display = ':0' } = {}): NodeJS.ProcessEnv {
  rmSync(asked, { force: true });
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(folder, name), `#!/bin/sh\n/usr/bin/env > '${environment}'\necho "$1" > '${asked}'\nexit ${exitCode}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return { PATH: folder, DISPLAY: display, PORT: String(port), DATA_DIR: folder };
}
const wasAsked = () => (existsSync(asked) ? readFileSync(asked, 'utf8').trim() : null);

test('the browser gets the address, which is printed with where it comes from', async () => {
  const address = `http://127.0.0.1:${port}/`;
  const { exitCode, stdout, stderr } = await runCommand(['open'], desktop());
  expect([exitCode, stdout, wasAsked()]).toEqual([0, `${address}\n`, address]);
  expect(stderr).toBe(
    `The address comes from HOST and PORT in the settings of this terminal; a daemon with other settings has another one.
There is no link: no daemon without API_KEY has kept its key in ${folder} yet; name the daemon's folder with DATA_DIR.
`,
  );
});

test('the browser gets the variables of the desktop, and none of the settings', async () => {
  const secrets = { API_KEY: 'c2VjcmV0LWtleS1vZi1hLXRlc3Q', CHECKOUT_CLIENT_SECRET: 'hush', TOKEN_OF_ANOTHER_PROGRAM: 'hush' };
  const env = { ...SITE, ...desktop(), ...secrets, XDG_RUNTIME_DIR: '/run/user/1000', LC_ALL: 'C' };
  expect(await runCommand(['open'], env)).toMatchObject({ exitCode: 0 });
  const names = readFileSync(environment, 'utf8').match(/^\w+(?==)/gm)!;
  // The shell adds a few of its own.
  expect(names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name)).sort()).toEqual([
    'DISPLAY',
    'LC_ALL',
    'PATH',
    'XDG_RUNTIME_DIR',
  ]);
});

test('where no key is set, the browser gets a link made with the key in DATA_DIR', async () => {
  const { exitCode, stdout, stderr } = await runCommand(['open'], { ...desktop(), DATA_DIR: MACHINE_DIR });
  expect([exitCode, stdout]).toEqual([0, `${wasAsked()}\n`]);
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/open\?[\w-]{28}\n$/);
  expect(stderr).toContain('The link works once, within ten minutes');
  const keyed = { ...desktop(), DATA_DIR: MACHINE_DIR, API_KEY: 'c2VjcmV0LWtleS1vZi1hLXRlc3Q' };
  expect((await runCommand(['open'], keyed)).stdout).toBe(`http://127.0.0.1:${port}/\n`);
});

test('CONSOLE_URL wins, and is opened without a look at the daemon', async () => {
  const env = { ...desktop(), CONSOLE_URL: 'https://ops.example.com/watch', PORT: '1' };
  const { exitCode, stdout, stderr } = await runCommand(['open'], env);
  expect([exitCode, stdout, wasAsked()]).toEqual([0, 'https://ops.example.com/watch/\n', 'https://ops.example.com/watch/']);
  expect(stderr).toMatch(/^The address comes from CONSOLE_URL /);
});

test.each([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
  ['localhost', '127.0.0.1'],
])('a daemon that listens on %s is reached on this machine by an address of its own', async (HOST, host) => {
  const { stdout } = await runCommand(['open', '--print'], { ...desktop(), HOST, API_KEY: 'c2VjcmV0LWtleS1vZi1hLXRlc3Q' });
  expect(stdout).toBe(`http://${host}:${port}/\n`);
});

test('a link never leads to localhost, where another program may listen on ::1', async () => {
  const env = { ...desktop(), DATA_DIR: MACHINE_DIR, CONSOLE_URL: 'http://localhost:9999/watch' };
  expect((await runCommand(['open', '--print'], env)).stdout).toMatch(/^http:\/\/127\.0\.0\.1:9999\/watch\/open\?[\w-]{28}\n$/);
});

test.each<[string, () => NodeJS.ProcessEnv]>([
  ['no desktop', () => desktop({ display: '' })],
  ['no opener', () => ({ ...desktop(), PATH: '/nowhere' })],
  ['an opener without a browser', () => desktop({ exitCode: 3 })],
])('%s: the address is printed', async (_, env) => {
  const { exitCode, stdout, stderr } = await runCommand(['open'], env());
  expect([exitCode, stdout]).toEqual([0, `http://127.0.0.1:${port}/\n`]);
  expect(stderr).toMatch(/\nNo browser could be opened here: open the address yourself\.\n$/);
});

test('--print only prints, whether a daemon runs or not', async () => {
  const { exitCode, stdout } = await runCommand(['open', '--print'], { ...desktop(), PORT: '1' });
  expect([exitCode, stdout, wasAsked()]).toEqual([0, 'http://127.0.0.1:1/\n', null]);
});

test('without a daemon it says so, and opens nothing', async () => {
  const { exitCode, stdout, stderr } = await runCommand(['open'], { ...desktop(), PORT: '1' });
  expect([exitCode, stdout, wasAsked()]).toEqual([1, '', null]);
  expect(stderr).toMatch(
    /error: nothing answers at http:\/\/127\.0\.0\.1:1\/ \(ECONNREFUSED\): run "purchase-watch start" first/,
  );
  expect(await runCommand(['open'], { ...desktop(), PORT: '0' })).toMatchObject({ exitCode: 2, stdout: '' });
});
