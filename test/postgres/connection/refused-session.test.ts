import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/postgres/connection/database.ts';
import { testDatabase } from '../../support/database.ts';

test('a statement fails at once when the server refuses a session after it ended one during a statement', async () => {
  const database = await testDatabase();
  const role = `refused_${process.pid}`;
  const { sql: admin } = database;
  await admin.unsafe(`create role ${role} login password 'p' connection limit 1`);
  const address = new URL(database.url);
  Object.assign(address, { username: role, password: 'p' });
  const sql = connect(address.href, { max: 1 });
  onTestFinished(async () => {
    await sql.end({ timeout: 1 });
    await admin.unsafe(`drop role ${role}`);
    await database.drop();
  });

  const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
  const sleeping = sql`select pg_sleep(60)`.catch((error: unknown) => error);
  await expect.poll(() => admin`select from pg_stat_activity where pid = ${pid} and wait_event = 'PgSleep'`).toHaveLength(1);
  await admin.unsafe(`alter role ${role} connection limit 0`);
  await admin`select pg_terminate_backend(${pid})`;
  expect(await sleeping).toBeInstanceOf(Error);

  // The first of them may still meet the connection that ends.
  const refused = (): Promise<unknown> =>
    Promise.race([
      sql`select 1`.catch((error: { code?: string }) => error.code),
      new Promise((resolve) => setTimeout(resolve, 2_000, 'no answer')),
    ]);
  expect([await refused(), await refused(), await refused()].slice(1)).toEqual(['53300', '53300']);
  await admin.unsafe(`alter role ${role} connection limit 1`);
  await expect.poll(() => sql`select 1 as one`.catch(() => [])).toEqual([{ one: 1 }]);
});

test.each(['disable', 'prefer'])(
  'a statement fails at once where what answers closes without a word (sslmode=%s)',
  async (sslmode) => {
    let dials = 0;
    // As a load balancer does that has no server behind it.
    const server = createServer((socket) => {
      dials += 1;
      socket.on('error', () => {});
      socket.once('data', () => socket.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sql = connect(`postgres://u:p@127.0.0.1:${port}/d?sslmode=${sslmode}`, { max: 1 });
    onTestFinished(async () => {
      await sql.end({ timeout: 0 });
      server.close();
    });
    for (let statement = 1; statement <= 3; statement++) {
      expect(await sql`select 1`.catch((error: { code?: string }) => error.code)).toBe('CONNECTION_CLOSED');
      expect(dials).toBeLessThanOrEqual(statement);
    }
  },
);
