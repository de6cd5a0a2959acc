import { afterEach, expect, test } from 'vitest';
import { connect } from '../../src/postgres/connection/database.ts';
import { runCommand } from '../cli/run.ts';
import { holdStill } from '../support/hold-still.ts';
import { noPatroni, type PatroniCluster, startPatroni } from '../support/patroni/cluster.ts';
import { startMerchant } from '../support/patroni/merchant.ts';
import type { PatroniNode } from '../support/patroni/node.ts';

if (noPatroni !== null) console.warn(`not tested: ${noPatroni}`);

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

/** From here on the standbys of a node receive nothing, as over a line that hangs. */
async function holdReplication(node: PatroniNode): Promise<void> {
  const sql = connect(node.url('postgres'), { max: 1 });
  for (const { pid } of await sql<{ pid: number }[]>`select pid from pg_stat_replication`) holdStill(pid);
  await sql.end();
}

/** Writes so many megabytes of write-ahead log. */
async function fillLog(node: PatroniNode, megabytes: number): Promise<void> {
  const sql = connect(node.url('postgres'), { max: 1 });
  for (let count = 0; count < megabytes; count++) await sql`select pg_logical_emit_message(false, 'test', repeat('x', 1048576))`;
  await sql.end();
}

/** How far a replica is behind, in bytes, as Patroni tells the other nodes. */
async function lagKnown(node: PatroniNode): Promise<number> {
  const answer = await node.ask('/cluster');
  const { members } = (await answer!.json()) as { members: { role: string; lag?: number }[] };
  return Number(members.find(({ role }) => role === 'replica')?.lag ?? 0);
}

async function lose(node: PatroniNode): Promise<void> {
  await node.killPatroni();
  await node.killPostgres();
}

const NAME = 'haproxy';

async function start(): Promise<PatroniCluster> {
  const cluster = await startPatroni(2, { dcs: { synchronous_mode: false } });
  cleanUp.push(() => cluster.stop());
  await cluster.createDatabase(NAME);
  return cluster;
}

test.skipIf(noPatroni !== null)(
  'in an asynchronous cluster a replica that lags too far is not promoted, and what a promotion loses is told and found',
  async () => {
    const cluster = await start();
    const merchant = await startMerchant(NAME, cluster.urls(NAME).haproxy);
    cleanUp.push(() => merchant.stop());
    merchant.open();

    const first = await cluster.leader();
    const stranger = { method: 'PATCH', body: '{"ttl": 9}', headers: {} };
    expect((await first.ask('/config', stranger))?.status, 'who lacks the password changes nothing').toBe(401);
    const plain = connect(first.url(NAME).replace('sslmode=require', 'sslmode=disable'), { max: 1 });
    await expect(plain`select`, 'no password travels without TLS').rejects.toThrow('no encryption');
    await plain.end();
    const replica = cluster.nodes.find((node) => node !== first)!;
    await holdReplication(first);
    await fillLog(first, 3);
    await expect.poll(() => lagKnown(first)).toBeGreaterThan(1_048_576);
    await lose(first);
    await expect.poll(() => replica.log()).toContain('My wal position exceeds maximum replication lag');
    expect(await replica.isLeader()).toBe(false);
    first.start();
    expect(await cluster.leader(), 'the machine that lacks nothing is the leader again').toBe(first);
    expect(await merchant.firstPollAfter(Date.now(), first.url(NAME))).toBeLessThan(10_000);
    await cluster.whole();
    await merchant.close();
    await merchant.quiet(first.url(NAME));
    expect(await merchant.losses(first.url(NAME))).toEqual([]);
    expect(merchant.output()).not.toContain('"database.went_back"');

    expect(await merchant.doctor()).toContain('no commit waits for a standby: a failover may lose the last ones');

    await cluster.configure({ maximum_lag_on_failover: 1_073_741_824 });
    await holdReplication(first);
    const kept = merchant.answered.size;
    merchant.open();
    await expect.poll(() => merchant.answered.size).toBeGreaterThan(kept + 25);
    await lose(first);
    expect(await cluster.leader()).toBe(replica);
    expect(await merchant.firstPollAfter(Date.now(), replica.url(NAME))).toBeLessThan(10_000);
    await merchant.close();
    await expect.poll(() => merchant.output()).toContain('"database.went_back"');
    const said = () => merchant.headlines().filter((line) => line.includes('the database came back without its last writes'));
    await expect.poll(said).toHaveLength(1);

    const lost = await merchant.lost(replica.url(NAME));
    expect(lost.length).toBeGreaterThan(10);
    expect((await merchant.losses(replica.url(NAME))).join('\n')).toContain('arrived, and the database does not know the event');
    // What the message says is to be done.
    await merchant.registerAgain(lost);
    await merchant.quiet(replica.url(NAME));
    expect(await merchant.lost(replica.url(NAME))).toEqual([]);
    const settings = { DATABASE_URL: replica.url(NAME) };
    expect((await runCommand(['audit', '--compared'], settings)).exitCode).toBe(0);
    expect((await runCommand(['audit'], settings)).exitCode).toBe(0);
    expect(said()).toHaveLength(1);
  },
  300_000,
);
