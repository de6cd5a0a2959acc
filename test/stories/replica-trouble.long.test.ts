/** A daemon that cannot do its work says so: to orchestrators, to the dead man's switch, and to people. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { messagesOf } from '../../src/postgres/incidents/messages.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { saveReplicaTroubles } from '../../src/postgres/shards/replica-troubles.ts';
import { refuseAll, refuseWrites } from '../support/refused-writes.ts';
import { type StandIn, startStandIn } from '../support/stand-in.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';
import { startWire } from '../support/wire.ts';

let t: TestApp;
afterEach(() => t.stop());

const headlines = (): (string | undefined)[] => t.slack.received.map(({ text }) => text.split('\n')[0]);

/** Judges and delivers every few seconds, as a daemon does. */
async function judgeFor(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 10) {
    t.clock.advance('10s');
    await t.app.judgeOnce();
    await t.app.deliverOnce();
  }
}

test('what replicas say they cannot do is one alert for all of them, with what to do, and one when it is over', async () => {
  t = await startTestApp();
  await t.app.judgeOnce();
  const { sql } = t.app;
  const [{ id }] = await sql<[{ id: string }]>`select id from purchase_watch_internal.replicas`;
  await sql`insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_other', 'elsewhere', now() + interval '1 day')`;
  const since = t.clock.now() - 60_000;
  const trouble = { reason: 'not_recording', since, error: 'could not extend file: No space left on device (53100)' } as const;
  await saveReplicaTroubles(sql, { replica: id, host: 'host-a (4711)' }, [trouble]);
  await saveReplicaTroubles(sql, { replica: 'rep_other', host: 'host-b (12)' }, [
    trouble,
    { reason: 'not_settling', since, error: null },
  ]);
  await judgeFor(60);
  expect(headlines()).toEqual([expect.stringMatching(/^🔴 purchase-watch: polls are not recorded for 1 min/)]);
  const { text } = t.slack.received[0]!;
  for (const part of [
    id,
    'host-a (4711)',
    'rep_other',
    'results of deliveries are not recorded',
    'Nothing is lost',
    'free space',
  ])
    expect(text.toLowerCase()).toContain(part.toLowerCase());

  await saveReplicaTroubles(sql, { replica: id, host: 'host-a (4711)' }, []);
  // The rows of one that is gone go with it.
  await sql`delete from purchase_watch_internal.replicas where id = 'rep_other'`;
  expect(await sql`select from purchase_watch_internal.replica_troubles`).toHaveLength(0);
  await judgeFor(60);
  expect(headlines()).toHaveLength(2);
  expect(headlines()[1]).toMatch(/^✅ Polls are recorded again, after \d/);
});

describe('a daemon whose database refuses writes', () => {
  let monitor: StandIn<string>;
  let allowed: () => Promise<void>;
  beforeEach(async () => {
    monitor = await startStandIn<string>(({ path }) => ({ kept: path }));
    t = await startTestApp({ wholeClock: true, env: { DEAD_MANS_SWITCH_URL: `${monitor.origin}/alive`, LOG_LEVEL: 'debug' } });
    await t.app.start();
    await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '1h' }] });
    await t.receiver.waitFor((received) => received.length === 1, 30_000);
    await expect.poll(ready, PATIENCE).toMatchObject({ status: 200 });
    await expect.poll(() => monitor.received.length, PATIENCE).toBeGreaterThan(0);
  });
  afterEach(() => monitor.stop());

  const PATIENCE = { interval: 50 };
  const ready = async () => {
    const response = await fetch(`${t.app.url()}/readyz`);
    const body = (await response.json()) as { loops: { name: string; ok: boolean; error: string | null }[] };
    return { status: response.status, bad: body.loops.filter(({ ok }) => !ok).map(({ name, error }) => `${name}: ${error}`) };
  };
  /** Five seconds for the daemon that runs; on a slow machine they take as much longer as its own work does. */
  async function step(): Promise<void> {
    t.clock.advance('5s');
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (let times = 0; times < 3; times++) {
      await t.database.sql`select`;
      await fetch(`${t.app.url()}/healthz`);
    }
  }
  /** Lets time pass until something holds; fails after twenty minutes of it. */
  async function passUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let steps = 0; steps < 240; steps++) {
      if (await holds()) return;
      await step();
    }
    throw new Error('It did not come about.');
  }

  test('polls that are not recorded for a minute make it unready, silence the dead man’s switch, and alert people once', async () => {
    allowed = await refuseWrites(t.database.sql, [['purchase_watch.purchases', 'update']]);
    await passUntil(() => t.slack.received.length > 0);
    expect(headlines()).toEqual([expect.stringMatching(/^🔴 purchase-watch: polls are not recorded for \d/)]);
    expect(t.slack.received[0]!.text).toContain('free space');
    const { status, bad } = await ready();
    expect([status, bad.join()]).toEqual([503, expect.stringContaining('poller: could not extend file')]);
    expect(t.log.join('')).toContain('dead_mans_switch.withheld');
    const calls = monitor.received.length;
    for (let steps = 0; steps < 24; steps++) await step();
    expect([t.slack.received.length, monitor.received.length]).toEqual([1, calls]);

    await allowed();
    await passUntil(() => t.slack.received.length > 1);
    expect(headlines()[1]).toMatch(/^✅ Polls are recorded again, after \d/);
    await passUntil(async () => (await ready()).status === 200 && monitor.received.length > calls);
  });

  test('when nothing at all can be written it posts straight to Slack, once, and once when that is over', async () => {
    allowed = await refuseAll(t.database.sql);
    await passUntil(() => t.slack.received.length > 0);
    expect(headlines()).toEqual([expect.stringMatching(/^🔴 purchase-watch: polls are not recorded for \d/)]);
    expect((await ready()).status).toBe(503);
    for (let steps = 0; steps < 24; steps++) await step();
    expect(t.slack.received).toHaveLength(1);

    await allowed();
    await passUntil(() => t.slack.received.length > 1);
    expect(headlines()[1]).toMatch(/^✅ .*again, after \d/);
    await passUntil(async () => (await ready()).status === 200);
    for (let steps = 0; steps < 24; steps++) await step();
    // Nothing of it is told a second time by way of the database.
    expect(t.slack.received).toHaveLength(2);
    const incidents = await t.database.sql<
      { id: string }[]
    >`select id from purchase_watch_internal.incidents where alerted_at is not null`;
    expect(incidents).toHaveLength(1);
    const messages = await messagesOf(t.database.sql, incidents[0]!.id);
    expect(messages.map(({ channel, stage, status }) => [channel, stage, status])).toEqual([
      ['@slack', 'opened', 'delivered'],
      ['@slack', 'ended', 'delivered'],
    ]);
  });

  test('deliveries whose results cannot be recorded are sent once, and the rest waits until they can', async () => {
    const before = t.receiver.received.length;
    allowed = await refuseWrites(t.database.sql, [['purchase_watch_internal.deliveries', 'update']]);
    const ids = t.simulator.control.addMany(100, { script: [{ state: 'New' }] }).map(({ purchaseId }) => purchaseId);
    await register(
      t.database.sql,
      ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
    );
    for (let steps = 0; steps < 30; steps++) await step();
    const sent = t.receiver.received.length - before;
    expect(sent).toBeGreaterThan(0);
    expect((await ready()).bad.join()).toContain('notifier: could not extend file');
    expect(headlines()).toEqual([expect.stringMatching(/^🔴 purchase-watch: results of deliveries are not recorded for \d/)]);

    await allowed();
    const delivered = async () =>
      (await t.database.sql`select from purchase_watch_internal.deliveries where status = 'delivered' and lane > 0`).length;
    await passUntil(async () => (await delivered()) === 101);
    const times = Map.groupBy(t.receiver.received.slice(before), ({ body }) => body);
    expect([times.size, t.receiver.received.length - before]).toEqual([100, 100]);
    await passUntil(() => t.slack.received.length > 1);
    expect(headlines()[1]).toMatch(/^✅ Results of deliveries are recorded again/);
  });
});

test('a database that cannot be reached for a minute is posted straight to Slack, once, and once when it is reached again', async () => {
  t = await startTestApp({ wholeClock: true });
  const wire = await startWire(t.database.url);
  onTestFinished(wire.stop);
  Object.assign(t.settings, { databaseUrl: wire.url });
  const daemon = await t.another();
  await daemon.start();
  const judged = async () =>
    (await t.database.sql`select from purchase_watch_internal.leases where name = 'judge' and owner is not null`).length > 0;
  await expect.poll(judged).toBe(true);
  /** Small steps: a new connection is tried once a second of real time at most. */
  const pass = async (count: number): Promise<void> => {
    for (let seconds = 0; t.slack.received.length < count; seconds++) {
      if (seconds > 600) throw new Error('It did not come about.');
      t.clock.advance('1s');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await wire.spoil({ kind: 'refused' });
  await pass(1);
  // All loops lose the database. The judge's failures are long first on a slow machine; the alert begins with the worst all the same.
  expect(t.slack.received[0]!.text).toMatch(/^🔴 purchase-watch: polls are not recorded for .*(.|\n)*DATABASE_URL/);
  expect(t.slack.received[0]!.text).toMatch(/The daemon on .* posted this itself/);
  await wire.spoil(null);
  await pass(2);
  expect(headlines()[1]).toMatch(/^✅ (Polls|Results of deliveries) are recorded again, after \d/);
});

test('two replicas that lose the database both post in the end, a minute apart, and one alert says that it is over', async () => {
  t = await startTestApp({ wholeClock: true });
  const wire = await startWire(t.database.url);
  onTestFinished(wire.stop);
  Object.assign(t.settings, { databaseUrl: wire.url });
  const daemons = [await t.another(), await t.another()];
  for (const daemon of daemons) await daemon.start();
  const { sql } = t.database;
  const judge = async () => (await sql`select owner from purchase_watch_internal.leases where name = 'judge'`)[0]!.owner;
  await expect.poll(judge).not.toBeNull();
  const judging = await judge();
  const passUntil = async (holds: () => boolean): Promise<void> => {
    for (let seconds = 0; !holds(); seconds++) {
      if (seconds > 600) throw new Error('It did not come about.');
      t.clock.advance('1s');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  // Each replica reads with its next renewals who the others are and who judges.
  const until = t.clock.now() + 10_000;
  await passUntil(() => t.clock.now() > until);
  await wire.spoil({ kind: 'refused' });
  await passUntil(() => t.slack.received.length === 1);
  const firstAt = t.clock.now();
  expect(t.slack.received[0]!.text).toContain(judging);
  await passUntil(() => t.slack.received.length === 2);
  expect((t.clock.now() - firstAt) / 1_000).toBeGreaterThan(45);
  expect(t.slack.received[1]!.text).not.toContain(judging);
  await wire.spoil(null);
  await passUntil(() => t.slack.received.length === 3);
  expect(headlines()[2]).toMatch(/^✅ /);
  const later = t.clock.now() + 90_000;
  await passUntil(() => t.clock.now() > later);
  expect(t.slack.received).toHaveLength(3);
});
