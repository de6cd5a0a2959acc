import { afterEach, expect, test } from 'vitest';
import type { Settings } from '../../src/config/settings.ts';
import { runCommand } from '../cli/run.ts';
import { loadFile, temporaryFile } from '../config/files.ts';
import { addExits } from '../support/dwell-days.ts';
import { fetchAsMachine } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTE = 60_000;
const CARD = 6;
/** A busy machine may be late with a poll, and what it is late by does not count. */
const HALF_A_MINUTE = 30_000;
const LEARNING = 'states: { WaitingForCardPayments: { stuckAfter: auto } }';
const learning = (settings: Settings): void => {
  settings.policy = loadFile(LEARNING).policy;
};
/** 95 % of customers who stay for 130 s are under 153 s, the end of that bucket. */
const LEARNED = 3 * 153_000;

let t: TestApp;
afterEach(() => t.stop());
const customersGotOn = (exits: number) =>
  addExits(t.app.sql, t.clock.now(), [{ site: 'default', state: CARD, exits, dwell: 110_000, longest: 130_000 }]);
/** Lets time pass for the poller alone, from one due poll to the next. */
const poll = async (milliseconds: number): Promise<void> => {
  const end = t.clock.now() + milliseconds;
  while (t.clock.now() < end) {
    const [due] = await t.app.sql<{ at: number | null }[]>`
      select (extract(epoch from min(next_poll_at)) * 1000)::float8 as at from purchase_watch.purchases`;
    const next = Math.ceil(Math.min(Math.max(due?.at ?? end, t.clock.now() + 1), end));
    t.clock.advance(`${next - t.clock.now()}ms`);
    await t.app.pollOnce();
  }
};

function expectLimit(limit: number, stuckAfter: number): void {
  expect(stuckAfter).toBeGreaterThanOrEqual(limit);
  expect(stuckAfter).toBeLessThan(limit + HALF_A_MINUTE);
}

test('a purchase is called stuck at the limit that was learned from customers who got on', async () => {
  t = await startTestApp({ change: learning });
  await customersGotOn(50);
  const purchase = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.app.pollOnce();
  const { stateSince } = await t.rowOf(purchase);
  await poll(LEARNED - 1);
  expect((await t.rowOf(purchase)).stuckSince).toBeNull();
  await poll(HALF_A_MINUTE);
  expectLimit(LEARNED, (await t.rowOf(purchase)).stuckSince! - stateSince!);
});

test('with too few of them the default holds, and what is learned meanwhile holds for those who wait already', async () => {
  t = await startTestApp({ change: learning });
  await customersGotOn(49);
  const early = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.app.pollOnce();
  await poll(15 * MINUTE - 1);
  expect((await t.rowOf(early)).stuckSince).toBeNull();
  await poll(HALF_A_MINUTE);
  const { stateSince: earlySince, stuckSince: earlyStuck } = await t.rowOf(early);
  expectLimit(15 * MINUTE, earlyStuck! - earlySince!);

  const late = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.app.pollOnce();
  await poll(MINUTE);
  await customersGotOn(1);
  await poll(LEARNED - MINUTE + HALF_A_MINUTE);
  const { stateSince, stuckSince } = await t.rowOf(late);
  expectLimit(LEARNED, stuckSince! - stateSince!);
});

test('what cannot be read stops no poll, is logged once and is made up for', async () => {
  t = await startTestApp({ change: learning, realClock: true });
  await customersGotOn(50);
  await t.app.sql`alter table purchase_watch_internal.dwell_days rename to away`;
  await t.app.start();
  const purchase = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.receiver.waitFor(() => t.changesOf(purchase).length === 1);
  const failures = () => t.log.filter((line) => line.includes('loop.failed') && line.includes('"loop":"limits"'));
  await expect.poll(failures).toHaveLength(1);
  await t.app.sql`alter table purchase_watch_internal.away rename to dwell_days`;
  await expect.poll(() => t.log.some((line) => /loop\.recovered/.test(line) && /limits/.test(line))).toBe(true);
  expect(failures()).toHaveLength(1);
  const response = await fetchAsMachine(`${t.app.url()}/v1/purchases/${purchase}`);
  expect(await response.json()).toMatchObject({ limit: { limitMs: LEARNED, source: 'learned' } });
});

test('the working is shown by the API, by why and by status alike', async () => {
  t = await startTestApp({ change: learning, realClock: true });
  await customersGotOn(412);
  await t.app.start();
  const purchase = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.receiver.waitFor(() => t.changesOf(purchase).length === 1);
  const working = 'usual 2 min 8 s, 95 % under 2 min 33 s, limit 7 min 39 s, from 412 purchases';
  const limit = {
    limitMs: LEARNED,
    source: 'learned',
    usualMs: 128_000,
    p95Ms: 153_000,
    purchases: 412,
    text: expect.stringContaining(` here; ${working}`),
  };
  const read = async (path: string) =>
    JSON.parse(await (await fetchAsMachine(`${t.app.url()}/v1/purchases/${purchase}${path}`)).text());
  expect(await read('')).toMatchObject({ purchaseId: purchase, limit });
  const clockOf = ({ standing }: { standing: { kind: string }[] }) => standing.find(({ kind }) => kind === 'stuck_clock');
  expect(clockOf(await read('/why'))).toMatchObject({ limit, text: expect.stringContaining(working) });

  const env = { DATABASE_URL: t.database.url, PURCHASE_WATCH_CONFIG: temporaryFile(LEARNING) };
  const command = async (...argv: string[]) => {
    const { exitCode, stdout, stderr } = await runCommand([...argv, '--quiet'], env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  };
  expect(await command('why', purchase)).toMatch(new RegExp(`stuck clock, waiting for the card provider: .* here; ${working}`));
  expect(clockOf(JSON.parse(await command('why', purchase, '--json')))).toMatchObject({ limit });
  expect(await command('status', purchase)).toMatch(new RegExp(`^limit +\\d+ s here; ${working}$`, 'm'));
  expect(JSON.parse(await command('status', purchase, '--json'))).toMatchObject({ limit });
});
