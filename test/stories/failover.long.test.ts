import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { parseDatabaseUrl } from '../../src/postgres/address/database-url.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { hostsOf } from '../../src/postgres/connection/primary.ts';
import { startDaemon } from '../support/daemon.ts';
import { arrived, callAll, pool, registered, SESSIONS, sessionsAt, settingsFor, testApp } from '../support/paired-daemon.ts';
import { canPair, startPostgresPair } from '../support/postgres-pair.ts';
import { startWire } from '../support/wire.ts';

test('sessions that a failover left read-only are dropped, and work goes on over new ones', async () => {
  const t = await testApp();
  await t.app.start();
  const admin = pool(t.database.url, 'admin');
  await arrived(t, await registered(t, admin));
  const name = decodeURIComponent(new URL(t.database.url).pathname.slice(1));
  // As a proxy shows it that leads to a primary which was demoted: every session that begins now is read-only for good.
  await admin`alter database ${admin(name)} set default_transaction_read_only = on`;
  await admin`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'purchase-watch%'`;
  const readOnly = async () =>
    (await admin`select from pg_stat_activity where datname = current_database() and application_name = 'purchase-watch'`).length;
  await expect.poll(() => t.log.some((line) => line.includes('read-only transaction'))).toBe(true);
  await expect.poll(readOnly).toBeGreaterThan(0);
  await admin`alter database ${admin(name)} reset default_transaction_read_only`;
  await arrived(t, await registered(t, admin));
});

test.skipIf(!canPair)(
  'of several hosts the primary is used, and after a failover the other one',
  async () => {
    const t = await testApp();
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    const daemon = startDaemon(['start'], settingsFor(t, pair.url));
    onTestFinished(async () => void (await daemon.end('SIGKILL')));
    await daemon.says('"started"', 60_000);
    expect(daemon.output()).toContain(`"database":"Postgres at ${new URL(pair.standbyUrl).host},127.0.0.1:`);
    const before = pool(pair.url, 'test');
    await arrived(t, await registered(t, before));
    await pair.failOver();
    const after = pool(pair.standbyUrl, 'test');
    await arrived(t, await registered(t, after));
    // A database that stays where it is cannot have written a second era: the standby's timeline is another one.
    await expect.poll(async () => (await after`select era from purchase_watch_internal.feed_era`)[0]!.era).toBe(2);
    expect(await daemon.end('SIGTERM')).toBe(0);
  },
  180_000,
);

test.skipIf(!canPair)('a primary behind a line that hangs is left as soon as another host takes writes', async () => {
  const pair = await startPostgresPair();
  onTestFinished(() => pair.stop());
  const line = await startWire(pair.primaryUrl);
  onTestFinished(() => line.stop());
  const [standby, primary] = [new URL(pair.standbyUrl).host, new URL(line.url).host];
  const url = `postgres://postgres@${standby},${primary}/postgres?sslmode=disable`;
  // As a pool under load: each of its connections owes an answer, and none is dialled.
  const sql = connect(url, { max: 1, answerWithin: 15_000 });
  onTestFinished(() => sql.end({ timeout: 0 }));
  await sql`select 1`;
  await line.spoil({ kind: 'held' });
  const query = sql`select 1`.catch((error: { code: string }) => error.code);
  // What the dial found is taken for a second.
  await delay(1_100);
  // A search that begins before the promotion finds it, and does not end with what the standby said at first.
  const found = hostsOf(parseDatabaseUrl(url))!.find();
  await delay(500);
  await pair.promote();
  expect(await found).toEqual({ name: '127.0.0.1', port: Number(standby.split(':')[1]) });
  expect(await query).toBe('OTHER_PRIMARY');
  // What is asked while the connection ends fails with it.
  await expect.poll(() => sql`select pg_is_in_recovery() as waits`.catch(() => [])).toEqual([{ waits: false }]);
});

test.skipIf(!canPair)('when the host in use is silent, the others are asked', async () => {
  const pair = await startPostgresPair();
  onTestFinished(() => pair.stop());
  const line = await startWire(pair.primaryUrl);
  onTestFinished(() => line.stop());
  const url = `postgres://postgres@${new URL(pair.standbyUrl).host},${new URL(line.url).host}/postgres?sslmode=disable`;
  const sql = connect(url, { max: 1, answerWithin: 60_000 });
  onTestFinished(() => sql.end({ timeout: 0 }));
  await sql`select 1`;
  await line.spoil({ kind: 'held' });
  const query = sql`select 1`.catch((error: { code: string }) => error.code);
  await pair.promote();
  const promotedAt = performance.now();
  expect(await query).toBe('OTHER_PRIMARY');
  // Not only after a minute, when the connection would be given up.
  expect(performance.now() - promotedAt).toBeLessThan(20_000);
});

test.skipIf(!canPair)(
  'after a while in which no host takes writes, every pool works again: with a new primary, and with the old one',
  async () => {
    const t = await testApp();
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    const daemon = startDaemon(['start'], settingsFor(t, pair.url));
    onTestFinished(async () => void (await daemon.end('SIGKILL')));
    await daemon.says('"started"', 60_000);
    const first = pool(pair.primaryUrl, 'test');
    await arrived(t, await registered(t, first));
    for (const [primary, comeBack] of [
      [first, pair.startPrimary],
      [pool(pair.standbyUrl, 'test'), pair.promote],
    ] as const) {
      await pair.killPrimary();
      // So long that each pool has been dialled, and refused, more than once.
      for (let round = 0; round < 3; round++) {
        expect(new Set(await callAll(daemon))).toEqual(new Set([503]));
        await delay(1_000);
      }
      await comeBack();
      await arrived(t, await registered(t, primary));
      await expect.poll(() => callAll(daemon), { timeout: 20_000 }).toEqual([200, expect.anything(), 200, 200]);
      // The pools end sessions that rest, and sessions are dialled once more when the daemon has noticed the other server.
      const atWork = async () => {
        await registered(t, primary);
        await callAll(daemon);
        return sessionsAt(primary);
      };
      await expect.poll(atWork, { timeout: 30_000 }).toEqual(expect.arrayContaining(SESSIONS));
    }
    // A stop while nothing is reachable ends in time, and says what it could not do.
    await pair.killStandby();
    await expect.poll(() => callAll(daemon)).toEqual([503, 503, 503, 503]);
    const stopping = performance.now();
    expect(await daemon.end('SIGTERM')).toBe(1);
    expect(performance.now() - stopping).toBeLessThan(20_000);
    expect(daemon.output()).toMatch(/"afterMs":\d+,"advice":"[^"]* other replicas [^"]*","event":"stop.broken_off"/);
  },
  180_000,
);

test.skipIf(!canPair)(
  'a standby alone is waited for, until it may be the primary, with what to do',
  async () => {
    const t = await testApp();
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    const url = new URL(pair.standbyUrl);
    const daemon = startDaemon(['start'], settingsFor(t, `postgres://postgres@${url.host},127.0.0.1:1/postgres`));
    onTestFinished(async () => void (await daemon.end('SIGKILL')));
    await daemon.says('no host takes writes', 60_000);
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(daemon.output()).toMatch(/it is read-only: a standby.*one of the hosts must be the primary/);
  },
  120_000,
);

test('a start after a restore does not wait for those who read the events', async () => {
  const t = await testApp();
  const [reader, admin] = [pool(t.database.url, 'reader'), pool(t.database.url, 'admin')];
  await admin`update purchase_watch_internal.feed_era set origin = '7000000000000000000/00000001'`;
  await reader.unsafe('begin; select count(*) from purchase_watch_internal.events');
  const daemon = startDaemon(['start'], settingsFor(t, t.database.url));
  onTestFinished(async () => void (await daemon.end('SIGKILL')));
  await daemon.says('"started"');
  await arrived(t, await registered(t, admin));
});
