/** What the page for receivers shows is taken from the page and tried with requests of the daemon's own channel. */

import { execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createWebhookChannel } from '../../src/channels/webhook/webhook.ts';
import { newSigningKey, publicKeyOf } from '../../src/config/kinds/signing-key.ts';
import { FAILURES_TO_PAUSE, FAILURES_TO_SWITCH_OFF, pauseAfter } from '../../src/domain/deliveries/subscriber-health.ts';
import { DEFAULT_DELIVERY_SCHEDULE } from '../support/delivery-schedule.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { allExamples, ROOT } from './examples.ts';
import { which } from './shell.ts';
import {
  BODY,
  cases,
  forged,
  NO_SECRETS,
  NODE,
  PHP,
  PYTHON,
  type Request,
  SECRET,
  type Send,
  SIGNING_KEY,
  STRANGER,
  UNPADDED,
} from './verifiers.ts';

const ALLOWED = { timeout: 15_000, allowAddresses: ['127.0.0.0/8'], concurrency: 4, userAgent: 'purchase-watch/test' };

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
let captured: Receiver;
beforeAll(async () => {
  captured = await startReceiver();
  for (const { text } of allExamples().filter(({ page }) => page === 'docs/receiving.md')) {
    const [, name] = /^(?:<\?php\n)?(?:\/\/|#) ([\w-]+\.(?:mjs|py|php))\n/.exec(text) ?? [];
    if (name !== undefined) writeFileSync(join(folder, name), text);
  }
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(ROOT, 'node_modules/standardwebhooks'), join(folder, 'node_modules/standardwebhooks'));
});
afterAll(async () => {
  await captured.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What a subscriber with these keys is sent. */
const sent: Send = async (keys, { at = Date.now(), ...options } = {}) => {
  const timed = keys.map((key) => ({ key, until: null }));
  const channel = createWebhookChannel({ ...ALLOWED, ...options, url: captured.url, keys: timed });
  await channel.send({ id: 'evt_1', type: 'purchase.state_changed', body: BODY }, { attempt: 1, now: at });
  await channel.close();
  const { headers, body } = captured.received.at(-1)!;
  return { headers, body };
};

test.each([
  ['node, with the library', process.execPath, 'library.mjs', NODE('verify-with-library.mjs'), '249.5'],
  ['node, with nothing installed', process.execPath, 'plain.mjs', NODE('verify.mjs'), '249.50'],
  ['python3', 'python3', 'cases.py', PYTHON, '249.50'],
  ['php', 'php', 'cases.php', PHP, '249.50'],
])('%s accepts what is ours and refuses everything else', async (_, command, file, program, price) => {
  if (command !== process.execPath && which(command) === null) {
    return console.warn(`${command} is not installed here, so its example in docs/receiving.md was NOT tried`);
  }
  const all = (await cases(sent)).filter(({ setting }) => setting === undefined || !file.startsWith('library'));
  writeFileSync(join(folder, file), program);
  const said = await output(command, [file], JSON.stringify(all));
  const verdicts = JSON.parse(said) as (string[] | null)[];
  expect(Object.fromEntries(all.map(({ about }, index) => [about, verdicts[index] !== null]))).toEqual(
    Object.fromEntries(all.map(({ about, good }) => [about, good])),
  );
  expect(verdicts.filter((verdict) => verdict !== null)).toEqual(
    all.filter(({ good }) => good).map(() => ['2f1c9a7e', 'Åsa 🦊 /', price]),
  );
});

async function output(command: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { cwd: folder, timeout: 20_000 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stderr}`)),
    );
    child.stdin!.end(input);
  });
}

test('a public key accepts its own signatures over these bytes, and no others', async () => {
  const { verifyPublic } = (await import(join(folder, 'verify-public.mjs'))) as {
    verifyPublic(rawBody: Buffer, headers: IncomingHttpHeaders, publicKey: string): boolean;
  };
  const own = publicKeyOf(SIGNING_KEY)!;
  const { headers, body } = await sent([SECRET, SIGNING_KEY]);
  expect(verifyPublic(Buffer.from(body), headers, own)).toBe(true);
  expect(verifyPublic(Buffer.from(`${body} `), headers, own)).toBe(false);
  expect(verifyPublic(Buffer.from(body), headers, publicKeyOf(newSigningKey())!)).toBe(false);
  expect(verifyPublic(Buffer.from(body), (await sent([SECRET])).headers, own)).toBe(false);
});

/** Starts a server of the page; fails with what it said when it ends instead. */
async function started(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
  says: RegExp,
): Promise<{ said(): string }> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let text = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        text += chunk;
        if (says.test(text)) resolve();
      });
    }
    child.once('exit', () => reject(new Error(`ended: ${text}`)));
  });
  return { said: () => text };
}

/** A free port below those that are given to whoever asks for any: until its server has it, no other test gets it. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}

function senderTo(url: string, key = SECRET) {
  const channel = createWebhookChannel({ ...ALLOWED, url, keys: [{ key, until: null }] });
  onTestFinished(() => channel.close());
  return async (id: string, body: string) =>
    (await channel.send({ id, type: 'purchase.state_changed', body }, { attempt: 1, now: Date.now() })).httpStatus;
}

const post = (url: string, { headers, body }: Request): Promise<Response> =>
  fetch(url, { method: 'POST', headers: headers as Record<string, string>, body });

test('php answers 204 to what is ours and 401 to everything else, as a server', async () => {
  if (which('php') === null) return console.warn('php is not installed here, so hook.php of docs/receiving.md was NOT tried');
  const port = await freePort();
  await started('php', ['-S', `127.0.0.1:${port}`, 'hook.php'], { WEBHOOK_SECRET: `${STRANGER} ${SECRET}` }, /started/);
  const url = `http://127.0.0.1:${port}/`;
  expect(await senderTo(url)('evt_1', BODY)).toBe(204);
  expect(await senderTo(url, UNPADDED)('evt_1', BODY)).toBe(401);
  expect((await fetch(url, { method: 'POST', body: BODY })).status).toBe(401);
  expect(await senderTo(url)('evt_1', 'no JSON')).toBe(401);
});

test.each([...NO_SECRETS, `${SECRET} `])('php takes nothing that is forged, where the setting is %j', async (setting) => {
  if (which('php') === null) return console.warn('php is not installed here, so hook.php of docs/receiving.md was NOT tried');
  const port = await freePort();
  const env = setting === null ? {} : { WEBHOOK_SECRET: setting };
  const { said } = await started('php', ['-S', `127.0.0.1:${port}`, 'hook.php'], env, /started/);
  const url = `http://127.0.0.1:${port}/`;
  const isSet = setting === `${SECRET} `;
  const answer = await post(url, forged());
  expect([answer.status, await senderTo(url)('evt_1', BODY)]).toEqual(isSet ? [401, 204] : [500, 500]);
  // Who calls need not know what is wrong here.
  if (!isSet) expect(await answer.text()).toBe('');
  expect(/WEBHOOK_SECRET is not set|a secret is not whsec_/.test(said())).toBe(!isSet);
});

describe('the whole receiver', () => {
  const eventOf = (id: string, sequence: number, state: string) =>
    BODY.replace('evt_1', id).replace('"sequence":3', `"sequence":${sequence}`).replace('Completed', state);

  test('ends with the same orders whatever comes twice, late, forged or is of a later version', async () => {
    const [port, orders] = [await freePort(), join(folder, 'orders.db')];
    await started(
      process.execPath,
      ['receiver.mjs'],
      { PORT: String(port), ORDERS: orders, WEBHOOK_SECRET: `${STRANGER} ${SECRET}` },
      /listening/,
    );
    const url = `http://127.0.0.1:${port}/hooks`;
    const send = senderTo(url);
    const answers = [
      await send('evt_1', eventOf('evt_1', 1, 'New')),
      await send('evt_3', eventOf('evt_3', 3, 'Completed')),
      await send('evt_3', eventOf('evt_3', 3, 'Completed')),
      await send('evt_2', eventOf('evt_2', 2, 'WaitingForCardPayments')),
      await send(
        'evt_4',
        '{"id":"evt_4","type":"purchase.from_the_future","timestamp":"2027-01-01T00:00:00.000Z","data":{"new":true}}',
      ),
      await senderTo(url, STRANGER)('evt_5', eventOf('evt_5', 4, 'Unknown(99)').replace('2f1c9a7e', 'another')),
      await senderTo(url, UNPADDED)('evt_6', eventOf('evt_6', 9, 'Cancelled')),
    ];
    expect(answers).toEqual([204, 204, 204, 204, 204, 204, 401]);
    expect((await fetch(url, { method: 'POST', body: 'x'.repeat(1_100_000) })).status).toBe(401);
    const database = new DatabaseSync(orders, { readOnly: true });
    onTestFinished(() => database.close());
    const rows = (query: string) =>
      database
        .prepare(query)
        .all()
        .map((row) => ({ ...row }));
    expect(rows('select * from orders order by purchase_id')).toEqual([
      { site: 'se', purchase_id: '2f1c9a7e', sequence: 3, state: 'Completed', price: '249.50' },
      { site: 'se', purchase_id: 'another', sequence: 4, state: 'Unknown(99)', price: '249.50' },
    ]);
    expect(rows('select webhook_id from received order by webhook_id').map(({ webhook_id: id }) => id)).toEqual([
      'evt_1',
      'evt_2',
      'evt_3',
      'evt_4',
      'evt_5',
    ]);
  });

  test.each(NO_SECRETS)('does not start, and says why, where the setting is %j', async (setting) => {
    const env = { PORT: '0', ORDERS: join(folder, 'none.db'), ...(setting === null ? {} : { WEBHOOK_SECRET: setting }) };
    await expect(started(process.execPath, ['receiver.mjs'], env, /listening/)).rejects.toThrow(
      /WEBHOOK_SECRET is not set, or empty|a secret is not whsec_/,
    );
  });

  test('refuses what is forged with the empty key, or no JSON, and takes either secret, whatever separates them', async () => {
    const port = await freePort();
    const env = { PORT: String(port), ORDERS: join(folder, 'comma.db'), WEBHOOK_SECRET: `${STRANGER},${SECRET} ` };
    await started(process.execPath, ['receiver.mjs'], env, /listening/);
    const url = `http://127.0.0.1:${port}/`;
    expect((await post(url, forged())).status).toBe(401);
    expect(await senderTo(url)('evt_0', 'no JSON')).toBe(401);
    expect([await senderTo(url)('evt_1', BODY), await senderTo(url, STRANGER)('evt_2', BODY)]).toEqual([204, 204]);
  });

  test('remembers nothing of what it could not keep, and takes it when it comes again', async () => {
    const [port, orders] = [await freePort(), join(folder, 'broken.db')];
    await started(
      process.execPath,
      ['receiver.mjs'],
      { PORT: String(port), ORDERS: orders, WEBHOOK_SECRET: SECRET },
      /listening/,
    );
    const send = senderTo(`http://127.0.0.1:${port}/`);
    const database = new DatabaseSync(orders);
    onTestFinished(() => database.close());
    database.exec("create trigger refuse before insert on orders begin select raise(abort, 'no room'); end");
    expect(await send('evt_1', BODY)).toBe(500);
    expect(database.prepare('select count(*) as n from received').get()).toMatchObject({ n: 0 });
    database.exec('drop trigger refuse');
    expect(await send('evt_1', BODY)).toBe(204);
    expect(database.prepare('select sequence from orders').get()).toMatchObject({ sequence: 3 });
  });
});

test('the page says the schedule, the ladder and the deadline as they are', () => {
  const page = readFileSync(join(ROOT, 'docs/receiving.md'), 'utf8').replaceAll(/\s+/g, ' ');
  expect(DEFAULT_DELIVERY_SCHEDULE.map((wait) => wait / 1_000)).toEqual([
    5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
  ]);
  expect(page).toContain('5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h');
  expect(page).toContain(`After ${FAILURES_TO_PAUSE} failures in a row`);
  expect(page).toContain(`After ${FAILURES_TO_SWITCH_OFF} failures in a row`);
  expect([pauseAfter(0), pauseAfter(1), pauseAfter(2), pauseAfter(50)]).toEqual([60_000, 120_000, 240_000, 86_400_000]);
  expect(page).toContain('nothing is sent for a minute, then for two, four, and so on up to a day');
});
