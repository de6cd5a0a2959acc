/** Any login of the database may notify, with any text at any rate: it costs a few looks, and changes nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../src/domain/events/system-event-types.ts';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { countErasable, erase } from '../../src/postgres/purchases/erase.ts';
import { findPurchases } from '../../src/postgres/purchases/purchases.ts';
import { openStream } from '../api/event-stream.ts';
import { aStatePolicy } from '../support/a-purchase.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const ROLE = `purchase_watch_test_stranger_${process.pid}`;

let t: TestApp;
let stranger: Sql;
afterEach(async () => {
  await stranger.end();
  await t.database.sql.unsafe(`drop role ${ROLE}`);
  await t.stop();
});

/** Notifies without a pause until told to stop: every word that daemons know, made-up erasures, and noise. */
function flood(sql: Sql): () => Promise<number> {
  let isOver = false;
  let sent = 0;
  const flooding = (async () => {
    while (!isOver) {
      const [row] = await sql<[{ n: number }]>`
        select count(pg_notify(channel, payload))::float8 as n from (
          select 'purchase_watch_wake' as channel, unnest(array['purchases', 'deliveries', 'replays', 'subscribers', 'judge', 'shards']) as payload
          union all select 'purchase_watch_wake', 'forgotten ' || g from generate_series(1, 100) g
          union all select 'purchase_watch_wake', repeat('x', 1000) || g from generate_series(1, 20) g
          union all select 'purchase_watch_events', 'evt_' || g from generate_series(1, 20) g) n`;
      sent += row.n;
    }
  })();
  return async () => {
    isOver = true;
    await flooding;
    return sent;
  };
}

test('a flood of notifications stops no polling, erases nothing and causes few looks', async () => {
  const often = aStatePolicy({ poll: { first: 300, growth: 0, most: 300 } });
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      settings.policy = { ...settings.policy, states: new Map([[0, often]]) };
    },
  });
  await t.database.sql.unsafe(`create role ${ROLE} login password 'a-password'`);
  const url = new URL(t.database.url);
  [url.username, url.password] = [ROLE, 'a-password'];
  stranger = connect(url.href, { max: 1 });
  await t.app.start();
  const ids: string[] = [];
  for (let count = 0; count < 20; count++) ids.push(await t.watch({ script: [{ state: 'New' }] }));
  const gone = ids.pop()!;
  const calls = (id: string): number => t.simulator.control.callsOf(id);
  await expect.poll(() => Math.min(...ids.map(calls))).toBeGreaterThan(0);
  // An erasure that somebody made up.
  await stranger`select pg_notify('purchase_watch_wake', 'forgotten ' || g) from generate_series(1, 100) g`;
  const asked = new Map(ids.map((id) => [id, calls(id)]));
  await expect.poll(() => ids.every((id) => calls(id) > asked.get(id)! + 2)).toBe(true);
  const streams = await Promise.all([1, 2, 3, 4, 5].map(() => openStream(`${t.app.url()}/v1/events/stream`)));

  const looks = async (): Promise<Record<string, number>> => {
    const rows = await t.database.sql<{ table: string; n: number }[]>`
      select relname as table, (seq_scan + coalesce(idx_scan, 0))::float8 as n from pg_stat_user_tables
      where relname in ('nudges', 'leases', 'forgotten', 'events')`;
    return Object.fromEntries(rows.map(({ table, n }) => [table, n]));
  };
  const before = await looks();
  const called = new Map(ids.map((id) => [id, calls(id)]));
  const began = performance.now();
  const end = flood(stranger);
  await delay(2_500);
  // What is true is noticed all the same, soon.
  const [row] = await findPurchases(t.app.sql, { purchaseId: gone, site: null });
  await erase(t.app.sql, row!, { by: 'a test', counts: await countErasable(t.app.sql, row!), within: 1_000 });
  t.simulator.control.setState(ids[0]!, 'Completed');
  for (const stream of streams)
    await stream.until(({ events }) => events().some(({ data }) => JSON.parse(data).data.to?.name === 'Completed'));
  const sent = await end();
  const seconds = (performance.now() - began) / 1_000;
  // Statistics of a session are told within a second of rest.
  await delay(1_200);
  const after = await looks();
  for (const stream of streams) stream.close();

  expect(sent).toBeGreaterThan(1_000);
  for (const id of ids.slice(1)) expect(calls(id)).toBeGreaterThan(called.get(id)! + 3);
  const erasedAt = calls(gone);
  const perSecond = (table: string): number => (after[table]! - before[table]!) / (seconds + 1.2);
  for (const table of ['nudges', 'leases', 'forgotten']) expect(perSecond(table), table).toBeLessThan(60);
  // The feed reads the index once for each type, whoever listens.
  expect(perSecond('events')).toBeLessThan(60 * EVENT_TYPES.length);
  await expect.poll(() => Math.min(...ids.slice(1).map(calls))).toBeGreaterThan(erasedAt + 2);
  expect(calls(gone)).toBe(erasedAt);
  expect((await fetch(`${t.app.url()}/readyz`)).status).toBe(200);
});
