/** `init`: from options, from the environment, and from a person at a terminal, against a checkout service that is simulated. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createSimulator, type Simulator } from '../../../packages/simulator/src/simulator.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { run } from '../../../src/main.ts';
import { loadFile } from '../../config/files.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { openTerminal } from '../../support/terminal.ts';
import { runCommand } from '../run.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = createSimulator({ allowHosts: ['pay.example'] });
  await simulator.start();
});
afterAll(() => simulator.stop());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-init-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});
const written = (name: string): string => readFileSync(join(folder, name), 'utf8');
const CREDENTIALS = { CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' };

/** Answers the questions at a terminal, one after the other, each once it is asked. */
async function answering(answers: readonly [question: string, answer: string][]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let [shown, complaint] = ['', ''];
  stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const ended = run(['init', '--folder', folder], { env: {}, stdin, stdout, stderr, isTTY: true });
  let from = 0;
  for (const [question, answer] of answers) {
    await expect.poll(() => shown.slice(from)).toContain(question);
    from = shown.length;
    stdin.write(answer);
  }
  const exitCode = await ended;
  return { exitCode, shown, complaint };
}

test('options are written with new secrets, the credentials are tried, and the daemon understands the files', async () => {
  const secret = join(folder, 'secret.txt');
  writeFileSync(secret, 'demo-secret\n');
  const made = join(folder, 'new');
  const argv = ['--base-url', simulator.url, '--client-id', 'demo-client', '--client-secret-file', secret, '--folder', made];
  const { exitCode, stdout } = await runCommand([
    ...['init', ...argv, '--webhook-url', 'http://127.0.0.1:9/hooks'],
    ...['--database-url', "postgres://watch:p'w@db.example/shop"],
  ]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(existsSync(made)).toBe(false);

  const again = await runCommand([
    ...['init', ...argv, '--webhook-url', 'http://127.0.0.1:9/hooks'],
    ...['--database-url', 'postgres://watch:p%20w@db.example/shop?sslmode=require&x=1'],
  ]);
  expect(again).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/^--database-url: [^\n]* give - .* or @file instead\.\n$/),
  });
  expect(again.stdout).toMatch(/^ok +the service: accepts oauth2/m);
  expect(again.stdout).toContain(
    `\nNext:\n  purchase-watch --env ${made}/.env doctor\n  purchase-watch --env ${made}/.env start\n`,
  );
  expect(statSync(join(made, '.env')).mode & 0o777).toBe(0o600);
  const variables = parseEnv(written('new/.env')) as Record<string, string>;
  expect(variables).toMatchObject({
    CHECKOUT_CLIENT_SECRET_FILE: secret,
    PURCHASE_WATCH_CONFIG: join(made, 'purchase-watch.yaml'),
  });
  const settings = loadSettings(variables, { requireSite: true });
  expect(settings.databaseUrl).toBe('postgres://watch:p%20w@db.example/shop?sslmode=require&x=1');
  expect(settings.subscribers).toMatchObject([{ url: 'http://127.0.0.1:9/hooks', secret: expect.stringMatching(/^whsec_/) }]);
  expect(settings.secretsKey).toHaveLength(44);
});

test('each example of the settings file can be taken as it stands', async () => {
  const env = { CHECKOUT_BASE_URL: simulator.url, ...CREDENTIALS };
  await runCommand(['init', '--no-try', '--folder', folder], env);
  const examples = written('purchase-watch.yaml').replaceAll(/^# (?=[ a-z]+:)/gm, '');
  const { sites, store } = loadFile(examples, { CHECKOUT_CLIENT_SECRET: 'hush' });
  expect([sites.map(({ name }) => name), store.fields]).toEqual([
    ['se', 'fi'],
    ['Price', 'CurrencyCode', 'OrderReference'],
  ]);
});

test('what the environment says is not asked for; what is missing or wrong is named by its option', async () => {
  expect(await runCommand(['init', '--folder', folder, '--slack-url', 'nowhere'], { CHECKOUT_CLIENT_ID: 'shop' })).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /\nerror: 3 problems\n {2}--slack-url: its value \(not shown\) is not .*\n {2}--base-url: is missing; give the option, or set CHECKOUT_BASE_URL\n {2}--client-secret-file: is missing; give the option, or set CHECKOUT_CLIENT_SECRET\n$/,
    ),
  });
});

test('a service that refuses the credentials is named, and the files stay', async () => {
  const env = { CHECKOUT_BASE_URL: simulator.url, ...CREDENTIALS, CHECKOUT_CLIENT_SECRET: 'wrong' };
  const { exitCode, stdout, stderr } = await runCommand(['init', '--folder', folder], env);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: `error: the service was not reached as it should: change ${folder}/.env, and run doctor as above\n`,
  });
  expect(stdout).toMatch(/^failed +the service: /m);
  expect(stdout + stderr).not.toContain('wrong');
  expect(parseEnv(written('.env'))).toMatchObject({ CHECKOUT_CLIENT_SECRET: 'wrong' });

  expect(await runCommand(['init', '--folder', folder], env)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `error: ${folder}/.env is there already: move it away, or name another folder with --folder\n`,
  });
});

test('the service is tried through the proxy of the environment, which the files do not repeat', async () => {
  const between = await startConnectProxy();
  onTestFinished(() => between.stop());
  const base = simulator.url.replace('127.0.0.1', 'pay.example');
  const env = { CHECKOUT_BASE_URL: base, ...CREDENTIALS, http_proxy: `http://me:hush@127.0.0.1:${between.port}` };
  expect(await runCommand(['init', '--folder', folder], env)).toMatchObject({ exitCode: 0 });
  expect(new Set(between.asked.map(({ target }) => target))).toEqual(new Set([new URL(base).host]));
  expect(written('.env') + written('purchase-watch.yaml')).not.toContain('hush');
});

test('a person is asked until an answer can be used, and no secret is shown', async () => {
  mkdirSync(join(folder, '.git'));
  const { exitCode, shown, complaint } = await answering([
    ['Base address of the checkout service: ', 'checkout\r'],
    ['It is wrong: "checkout" is not', `${simulator.url}\r`],
    ['Client ID: ', '\r'],
    ['It is needed.', 'demo-client\r'],
    ['Client secret: ', 'demo-secret\r'],
    ['Postgres address (empty: a Postgres that comes along): ', '\r'],
    ['Where to post webhooks (empty: nowhere yet): ', '\r'],
    ["Slack's incoming webhook (empty: no alerts in Slack): ", '\r'],
  ]);
  expect({ exitCode, complaint }).toEqual({ exitCode: 0, complaint: 'Add .env to .gitignore: the file holds secrets.\n' });
  expect(shown).toContain('demo-client');
  expect(shown).not.toContain('demo-secret');
  expect(parseEnv(written('.env'))).toEqual({
    ...{ CHECKOUT_BASE_URL: simulator.url, ...CREDENTIALS },
    PURCHASE_WATCH_CONFIG: join(folder, 'purchase-watch.yaml'),
  });
});

test('questions that are broken off write nothing', async () => {
  const { exitCode, complaint } = await answering([['Base address', '\u0003']]);
  expect({ exitCode, complaint }).toEqual({
    exitCode: 2,
    complaint: 'error: nothing was written: the questions were broken off\n',
  });
  expect(existsSync(join(folder, '.env'))).toBe(false);
});

test('on a terminal each question stands before its answer, and a secret is not shown', async () => {
  const program = join(import.meta.dirname, '../../../bin/purchase-watch.mjs');
  const terminal = openTerminal([process.execPath, program, 'init', '--folder', folder]);
  const asked = async (line: string) => expect.poll(() => terminal.lines().map((each) => each.trimEnd())).toContain(line);
  await asked('Base address of the checkout service:');
  terminal.press(`${simulator.url}\r`);
  await asked(`Base address of the checkout service: ${simulator.url}`);
  await asked('Client ID:');
  terminal.press('demo-client\r');
  await asked('Client ID: demo-client');
  await asked('Client secret:');
  terminal.press('demo-secret\r');
  await expect.poll(() => terminal.lines().join('\n')).toContain('Postgres address');
  expect(terminal.lines().join('\n')).not.toContain('demo-secret');
  terminal.press('\u0003');
  expect(await terminal.ended).not.toBe(0);
});
