/** Rows that another session has locked: commands and the API answer within seconds which session is in the way, and change nothing. */
import { afterEach, expect, test } from 'vitest';
import { connect, type Queries } from '../../src/postgres/connection/database.ts';
import { runCommand } from '../cli/run.ts';
import { fetchAsMachine } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const INCIDENT = 'inc_01KA0000000000000000000000';

let t: TestApp;
afterEach(() => t.stop());

/** Runs the work while another session has locked rows. */
async function whileLocked(lock: (tx: Queries) => Promise<unknown>, work: (pid: number) => Promise<void>): Promise<void> {
  const other = connect(t.database.url, { max: 1, name: 'psql' });
  try {
    await other.begin(async (tx) => {
      await lock(tx);
      const [row] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
      await work(row.pid);
    });
  } finally {
    await other.end({ timeout: 1 });
  }
}

const command = (argv: readonly string[]) =>
  runCommand(argv, {
    ...{ DATABASE_URL: t.database.url, CHECKOUT_BASE_URL: t.simulator.url },
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
  });

async function call(method: string, path: string, body: unknown = {}) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetchAsMachine(t.app.url() + path, {
    method,
    headers,
    ...(method === 'DELETE' ? {} : { body: JSON.stringify(body) }),
  });
  const { code, detail } = (await answer.json().catch(() => ({}))) as { code?: string; detail?: string };
  return { status: answer.status, code, detail, retryAfter: answer.headers.get('retry-after') };
}

test('every change of a locked purchase, delivery or subscriber is refused with the session in the way, and possible afterwards', async () => {
  // Four connections for changes.
  t = await startTestApp({ realClock: true, env: { DATABASE_CONNECTIONS: '27' } });
  const stopped = await t.watch({ script: [{ state: 'New' }] });
  const ids: string[] = [];
  // Each its own purchase: of several that wait for one row, all but the first wait for each other.
  for (let n = 0; n < 6; n++) ids.push(await t.watch({ script: [{ state: 'New' }] }));
  const [polled, unwatched, forgotten, ...ofApi] = ids as [string, string, string, string, string, string];
  await t.app.start();
  await t.receiver.waitFor(() => [stopped, ...ids].every((id) => t.changesOf(id).length === 1));
  expect((await command(['unwatch', stopped])).exitCode).toBe(0);
  const commands = [
    ['poll', polled],
    ['unwatch', unwatched],
    ['watch', stopped],
    ['forget', forgotten, '--yes'],
    ['replay', '--subscriber', 'default', '--since', '1h'],
    ['subscribers', 'remove', 'shop', '--yes'],
    ['incidents', 'answer', INCIDENT, '--cause', 'deploy', '--by', 'Kim'],
  ];
  const calls: readonly [string, string, unknown?][] = [
    ['POST', `/v1/purchases/${ofApi[0]}/poll`],
    ['DELETE', `/v1/purchases/${ofApi[1]}`],
    ['POST', `/v1/purchases/${ofApi[2]}/forget`, { dryRun: false }],
  ];
  const { sql } = t.database;
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, origin, url, keys, address_hash) values ('shop', 'webhook', 'api', '\\x00', '\\x00', 'c')`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak)
    values (${INCIDENT}, 'stuck', 'default', 3, now(), now(), 4, 4)`;
  const lock = async (tx: Queries): Promise<void> => {
    await tx`select from purchase_watch.purchases for update`;
    await tx`select from purchase_watch_internal.deliveries for update`;
    await tx`select from purchase_watch_internal.subscribers for update`;
    await tx`select from purchase_watch_internal.incidents for update`;
  };
  await whileLocked(lock, async (pid) => {
    const words = `session ${pid} of login "`;
    const end = `"select pg_terminate_backend(${pid})"`;
    const said = await Promise.all([...commands.map(command), ...calls.map((each) => call(...each))]);
    for (const [index, answer] of said.entries()) {
      const about = (commands[index] ?? calls[index - commands.length]!).join(' ');
      if ('stderr' in answer) {
        expect.soft([answer.exitCode, answer.stderr], about).toEqual([1, expect.stringContaining(words)]);
        expect.soft(answer.stderr, about).toContain(end);
      } else {
        expect.soft(answer, about).toMatchObject({ status: 503, code: 'locked', retryAfter: '5' });
        expect.soft(answer.detail, about).toMatch(new RegExp(`ession ${pid} of login .*${RegExp.escape(end)}`));
      }
    }
  });
  for (const argv of commands) expect.soft(await command(argv), argv.join(' ')).toMatchObject({ exitCode: 0, stderr: '' });
  for (const each of calls) expect.soft((await call(...each)).status, each.join(' ')).toBeLessThan(300);
});
