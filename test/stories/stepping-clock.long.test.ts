/** A real Postgres whose clock really steps: what daemons wrote by the wrong time must not rest until the clock catches up. */
import { afterEach, expect, test } from 'vitest';
import { createSimulator, type Simulator } from '../../packages/simulator/src/simulator.ts';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { countPolls, type PurchaseName, register, requestPoll } from '../../src/postgres/purchases/purchases.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { MIGRATIONS } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { canStep, type SteppingPostgres, startSteppingPostgres } from '../support/stepping-postgres.ts';
import { SECRET } from '../support/test-app.ts';

let postgres: SteppingPostgres;
let simulator: Simulator;
let receiver: Receiver;
let sql: Sql;
let daemons: Daemon[] = [];
afterEach(async () => {
  await Promise.all(daemons.map((daemon) => daemon.end('SIGKILL')));
  daemons = [];
  await sql.end({ timeout: 1 });
  await Promise.all([simulator.stop(), receiver.stop(), postgres.stop()]);
});

async function start(): Promise<Daemon> {
  const daemon = startDaemon(['start'], {
    DATABASE_URL: postgres.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    WEBHOOK_URL: receiver.url,
    WEBHOOK_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    PORT: '0',
  });
  daemons.push(daemon);
  await daemon.says('"event":"started"', 60_000);
  return daemon;
}

async function watch(count: number): Promise<string[]> {
  const ids = simulator.control.addMany(count, { script: [{ state: 'BeingProcessed' }] }).map(({ purchaseId }) => purchaseId);
  await register(
    sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  return ids;
}

const arrived = (ids: readonly string[], state: string) => (): number =>
  ids.filter((id) => receiver.received.some(({ body }) => body.includes(id) && body.includes(`"name":"${state}"},"notBefore"`)))
    .length;

async function begin(): Promise<void> {
  postgres = await startSteppingPostgres();
  sql = connect(postgres.url, { max: 3 });
  await migrate(sql, MIGRATIONS);
  simulator = createSimulator();
  await simulator.start();
  receiver = await startReceiver({ secret: SECRET });
}

test.skipIf(!canStep())(
  'what was written hours ahead is polled and delivered once the clock is set back, also by a daemon that comes later',
  async () => {
    await begin();
    const first = await start();
    postgres.step(9_000);
    await first.says('clock.stepped', 30_000);
    const ids = await watch(40);
    await expect.poll(arrived(ids, 'BeingProcessed')).toBe(40);
    // One daemon lives through the step back, and must poll its purchases within their plan.
    postgres.step(0);
    await first.says('clock.step_followed', 30_000);
    for (const id of ids) simulator.control.setState(id, 'Completed');
    await expect.poll(arrived(ids, 'Completed')).toBe(40);

    // Another one is killed while the clock is ahead; its successor finds the clock set back.
    postgres.step(9_000);
    const more = await watch(40);
    await expect.poll(arrived(more, 'BeingProcessed')).toBe(40);
    await first.end('SIGKILL');
    postgres.step(0);
    for (const id of more) simulator.control.setState(id, 'Completed');
    const second = await start();
    await second.says('clock.step_followed', 30_000);
    await expect.poll(arrived(more, 'Completed')).toBe(40);

    // And one is stopped while the clock is ahead: its shards have no owner when the clock is set back.
    postgres.step(9_000);
    await expect.poll(second.output).toMatch(/"byMs":\d+,.*clock\.stepped/);
    const last = await watch(40);
    await expect.poll(arrived(last, 'BeingProcessed')).toBe(40);
    expect(await second.end('SIGTERM')).toBe(0);
    postgres.step(0);
    for (const id of last) simulator.control.setState(id, 'Completed');
    const third = await start();
    await third.says('clock.step_followed', 30_000);
    await expect.poll(arrived(last, 'Completed')).toBe(40);

    // Receivers check the timestamp against their own clocks.
    expect(receiver.received.every(({ verified }) => verified)).toBe(true);
    const types = new Set(receiver.received.map(({ type }) => type));
    expect([...types]).toEqual(['purchase.state_changed']);
    for (const daemon of daemons) expect(daemon.output()).not.toMatch(/poll\.unrecordable|purchase\.repaired/);
  },
  180_000,
);

test.skipIf(!canStep())(
  'by time that the clock skipped nothing expires and nothing is deleted, also after a restart',
  async () => {
    await begin();
    const first = await start();
    const ids = await watch(4);
    for (const id of ids.slice(1)) simulator.control.setState(id, 'Completed');
    await expect.poll(arrived(ids, 'Completed')).toBe(3);
    // Longer than purchases are watched, and kept.
    postgres.step(100 * 86_400);
    const skipped = async () => {
      const [row] = await sql<
        [{ days: number }]
      >`select coalesce(sum(extract(epoch from upper(r) - lower(r)) / 86400), 0)::int as days from purchase_watch_internal.database_clock, unnest(skipped) r`;
      return row.days;
    };
    await expect.poll(skipped).toBe(100);
    await first.end('SIGKILL');
    await sql`update purchase_watch_internal.leases set done_at = now() - interval '200 days' where name = 'upkeep'`;
    const polls = async () =>
      (
        await sql<[{ polls: number; left: number }]>`
        select max(polls) filter (where status = 'watching')::int as polls, count(*)::int as left from purchase_watch.purchases`
      )[0];
    const before = await polls();
    const second = await start();
    await second.says('retention.done', 20_000);
    await expect.poll(async () => (await polls()).polls).toBeGreaterThan(before.polls);
    expect((await polls()).left).toBe(4);
    postgres.step(0);
    await second.says('clock.step_followed', 10_000);
    await expect.poll(skipped).toBe(0);
    // Its plan would wait for minutes, as after 100 days in a state. The poll finds it where it was, and does not end its watch.
    const [waiting] = await sql<
      [PurchaseName]
    >`select site, purchase_id as "purchaseId" from purchase_watch.purchases where status = 'watching'`;
    const known = await requestPoll(sql, waiting);
    await expect.poll(() => countPolls(sql, waiting)).toBeGreaterThan(known);
    simulator.control.setState(ids[0]!, 'Completed');
    await requestPoll(sql, waiting);
    await expect.poll(arrived(ids, 'Completed')).toBe(4);
    expect(receiver.received.filter(({ type }) => type !== 'purchase.state_changed')).toEqual([]);
  },
  120_000,
);
