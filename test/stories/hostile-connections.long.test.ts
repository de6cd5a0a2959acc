/**
 * Two thousand connections of callers without a key, of every kind: polls, deliveries, health, calls with a key and signed-in people
 * go on, memory comes back and the log stays short. `HOSTILE_SECONDS=60` gives each kind a minute, and prints what was measured.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { KINDS } from '../support/attackers.ts';
import { type Daemon, quickStart, startDaemon } from '../support/daemon.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';

const SECONDS = Number(process.env.HOSTILE_SECONDS ?? 2);
const ONLY = process.env.HOSTILE_KIND ?? '';
const CONNECTIONS = 2_000;
const KEY = 'the-key-of-the-operator-0123456789';
const POLLS_PER_SECOND = 50;
const ATTACKERS = join(import.meta.dirname, '../support/attackers.ts');
const kinds = Object.keys(KINDS).filter((kind) => kind.includes(ONLY));

let t: TestApp;
let daemon: Daemon;
let origin: string;
let cookie: string;
/** How the daemon does while nobody attacks it. */
let calm: Awaited<ReturnType<typeof watch>>;
const authorization = { authorization: `Bearer ${KEY}` };
beforeAll(async () => {
  t = await startTestApp({ realClock: true });
  daemon = startDaemon(['start'], {
    DATABASE_URL: t.database.url,
    CHECKOUT_BASE_URL: t.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    CHECKOUT_MAX_RPS: `${POLLS_PER_SECOND}`,
    WEBHOOK_URL: t.receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    API_KEY: KEY,
    PORT: '0',
  });
  await daemon.says('"event":"started"');
  [, origin = ''] = /"url":"(http:[^"]+)"[^\n]*"api.listening"/.exec(daemon.output()) ?? [];
  const form = new URLSearchParams({ key: KEY });
  const signedIn = await fetch(`${origin}/sign-in`, { method: 'POST', body: form, headers: { origin }, redirect: 'manual' });
  cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!;
  await keepPolling((kinds.length * (SECONDS + 15) + 60) * POLLS_PER_SECOND);
  calm = await watch(2);
});
afterAll(async () => {
  await daemon.end('SIGKILL');
  await t.stop();
});

/** Registers purchases that are polled once each, and of each of which one event is delivered. */
async function keepPolling(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 5_000) {
    const made = t.simulator.control.addMany(Math.min(left, 5_000), { script: [{ state: 'Completed' }] });
    const wanted = made.map(({ purchaseId }) => ({ purchaseId, site: null, reference: null, metadata: null }));
    await register(t.app.sql, wanted, { isBulk: false });
  }
}

const residentMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.process.pid}/status`, 'utf8'))![1]) / 1024;
/** Lines that are not of the purchases' own course. */
const logLines = (): number =>
  daemon
    .output()
    .split('\n')
    .filter((line) => /"event":"(?:api|console)\./.test(line) || !line.startsWith('{')).length;

/** Asks on a connection of its own, as a prober does; answers the milliseconds. A refused connection counts as a minute. */
async function ask(path: string, headers: Record<string, string>): Promise<{ took: number; status: number }> {
  const begun = performance.now();
  try {
    const asked = get(`${origin}${path}`, { headers, agent: false, timeout: 60_000 });
    asked.on('timeout', () => asked.destroy(new Error('no answer within a minute')));
    const [answer] = await once(asked, 'response');
    answer.resume();
    return { took: performance.now() - begun, status: answer.statusCode };
  } catch {
    return { took: 60_000, status: 0 };
  }
}

async function askUntil(isOver: () => boolean, path: string, headers: Record<string, string> = {}) {
  const times: number[] = [];
  const wrong: number[] = [];
  while (!isOver()) {
    const { took, status } = await ask(path, headers);
    times.push(took);
    if (status !== 200) wrong.push(status);
    await delay(50);
  }
  times.sort((a, b) => a - b);
  return { wrong, asked: times.length, middle: Math.round(times[times.length >> 1]!), longest: Math.round(times.at(-1)!) };
}

/** How the daemon does for so long. */
async function watch(seconds: number) {
  const begun = performance.now();
  const before = {
    polls: t.simulator.control.counters().calls.status,
    deliveries: t.receiver.received.length,
    lines: logLines(),
  };
  const isOver = (): boolean => performance.now() - begun > seconds * 1_000;
  const [health, calls, pages] = await Promise.all([
    askUntil(isOver, '/healthz'),
    askUntil(isOver, '/v1/key', authorization),
    askUntil(isOver, '/channels', { cookie }),
  ]);
  const took = (performance.now() - begun) / 1_000;
  const polls = (t.simulator.control.counters().calls.status - before.polls) / took;
  const deliveries = (t.receiver.received.length - before.deliveries) / took;
  return { polls, deliveries, health, calls, pages, lines: logLines() - before.lines, resident: residentMb() };
}

const isReport = process.env.HOSTILE_SECONDS !== undefined;
/** What must be left of polls and deliveries; beside other tests the attackers take processors that the daemon would need. */
const SHARE = isReport ? 0.8 : 0.5;

// Attackers, the daemon and other tests share the processors: what only was late once, because others had them, is right the second time.
test.each(kinds)('2 000 connections: %s', { retry: isReport ? 0 : 1 }, async (kind) => {
  const residentBefore = residentMb();
  const attackers: ChildProcess = spawn(process.execPath, [ATTACKERS, kind, new URL(origin).port, `${CONNECTIONS}`], {
    stdio: 'inherit',
    env: { ...process.env, ...quickStart() },
  });
  const during = await watch(SECONDS + 1);
  // One that ended by itself attacked nothing.
  expect(attackers.exitCode).toBeNull();
  attackers.kill('SIGKILL');
  await once(attackers, 'close');
  if (isReport) process.stdout.write(`${kind}: ${JSON.stringify({ calm, residentBefore, during })}\n`);
  // Nothing that is right was refused. The rest leaves room for the attackers, who use the same processors; stalls took a minute before.
  expect.soft([during.health.wrong, during.calls.wrong, during.pages.wrong]).toEqual([[], [], []]);
  expect.soft(during.polls).toBeGreaterThan(calm.polls * SHARE);
  expect.soft(during.deliveries).toBeGreaterThan(calm.deliveries * SHARE);
  expect.soft(during.health.middle).toBeLessThan(250);
  expect.soft(during.lines).toBeLessThanOrEqual(100 + 2 * SECONDS);
  await expect.poll(residentMb, { interval: 500 }).toBeLessThan(residentBefore + 100);
});
