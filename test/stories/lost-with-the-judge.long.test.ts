/**
 * The database and the replica that judges are lost together: another replica alerts people, once, and once of the end. Nearly all
 * of the time is the minute after which a failure is trouble, and the minute for which each replica waits for the one before it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type TestContext, test } from 'vitest';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { messagesOf } from '../../src/postgres/incidents/messages.ts';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { canKillPostgres, startKillablePostgres } from '../support/killable-postgres.ts';
import { startSlackStandIn } from '../support/slack-stand-in.ts';

/** A database, Slack, and daemons as processes of their own; the first one judges. */
async function fleet(count: number, { expect, onTestFinished: cleanUp }: TestContext) {
  const postgres = await startKillablePostgres();
  cleanUp(postgres.stop);
  const [simulator, slack] = [createSimulator(), await startSlackStandIn()];
  await simulator.start();
  cleanUp(() => simulator.stop());
  cleanUp(slack.stop);
  const env = {
    DATABASE_URL: postgres.url,
    CHECKOUT_BASE_URL: simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
    SLACK_WEBHOOK_URL: slack.url,
    PORT: '0',
  };
  const sql = connect(postgres.url, { max: 1 });
  cleanUp(() => sql.end({ timeout: 0 }));
  const judges = async () =>
    (await sql`select from purchase_watch_internal.leases where name = 'judge' and owner is not null`.catch(() => [])).length > 0;
  const start = async (): Promise<Daemon> => {
    const daemon = startDaemon(['start'], env);
    cleanUp(async () => void (await daemon.end('SIGKILL')));
    await daemon.says('"started"');
    return daemon;
  };
  const daemons: Daemon[] = [];
  for (let each = 0; each < count; each++) {
    daemons.push(await start());
    if (each === 0) await expect.poll(judges, { timeout: 30_000 }).toBe(true);
  }
  // Each replica reads the others with each renewal of its lease.
  const renewals = () => sql<{ number: number }[]>`select number::integer from purchase_watch_internal.renewals order by replica`;
  await expect.poll(async () => (await renewals()).length, { timeout: 30_000 }).toBe(count);
  const before = await renewals();
  const areRenewedTwice = async () => (await renewals()).every(({ number }, at) => number >= before[at]!.number + 2);
  await expect.poll(areRenewedTwice, { timeout: 30_000 }).toBe(true);
  return { postgres, slack, sql, daemons: daemons as [Daemon, ...Daemon[]], start };
}
type Fleet = Awaited<ReturnType<typeof fleet>>;

const headlines = ({ slack }: Fleet) => slack.received.map(({ text }) => text.split('\n')[0]);
const told = { timeout: 240_000, interval: 500 };
/** Each replica has looked twice by then, and would have posted what it takes for news. */
const TWO_LOOKS = 15_000;

test.concurrent('of two replicas the one that is left posts, and the end is alerted once, also when the dead one is back', {
  skip: !canKillPostgres,
  timeout: 400_000,
}, async (context) => {
  const { expect } = context;
  const f = await fleet(2, context);
  const [judge, left] = f.daemons;
  const lostAt = Date.now();
  await Promise.all([f.postgres.kill(), judge.end('SIGKILL')]);
  await expect.poll(() => f.slack.received.length, told).toBe(1);
  expect(headlines(f)[0]).toMatch(/^🔴 purchase-watch: .* not recorded for 1 min/);
  expect(f.slack.received[0]!.at - lostAt).toBeLessThan(150_000);
  expect(f.slack.received[0]!.text).toContain(`(process ${left!.process.pid}) posted this itself`);
  await f.postgres.restart();
  await f.start();
  await expect.poll(() => f.slack.received.length, told).toBe(2);
  expect(headlines(f)[1]).toMatch(/^✅ .* recorded again, after \d/);
  const [incident] = await f.sql<{ id: string; ended: boolean }[]>`
      select id, ended_at is not null as ended from purchase_watch_internal.incidents`;
  expect(incident!.ended).toBe(true);
  const messages = await messagesOf(f.sql, incident!.id);
  expect(messages.map(({ channel, stage, status }) => [channel, stage, status])).toEqual([
    ['@slack', 'opened', 'delivered'],
    ['@slack', 'ended', 'delivered'],
  ]);
  await delay(TWO_LOOKS);
  expect(f.slack.received).toHaveLength(2);
});

test.concurrent('a judge that hangs is not waited for, and posts nothing more once it goes on beside the end', {
  skip: !canKillPostgres,
  timeout: 400_000,
}, async (context) => {
  const { expect } = context;
  const f = await fleet(3, context);
  const [judge, second] = f.daemons;
  judge.process.kill('SIGSTOP');
  await f.postgres.kill();
  await expect.poll(() => f.slack.received.length, told).toBe(1);
  expect(f.slack.received[0]!.text).toContain(`(process ${second!.process.pid}) posted this itself`);
  await f.postgres.restart();
  judge.process.kill('SIGCONT');
  await expect.poll(() => f.slack.received.length, told).toBe(2);
  expect(headlines(f)[1]).toMatch(/^✅ .* again, after \d/);
  await delay(TWO_LOOKS);
  expect(f.slack.received).toHaveLength(2);
});
