import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect } from '../../src/store/database.ts';
import { agreeOnLimits, limitsFor } from '../../src/store/server-limits.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

const WITHIN = 10_000;

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

/** A pooler that refuses a session which begins with a setting of these names, as PgBouncer does: it names the first. */
async function startPooler(unknown: readonly string[]): Promise<{ url: string; stop(): Promise<void> }> {
  const target = new URL(database.url);
  const open = new Set<Socket>();
  const server: Server = createServer((near) => {
    const far = dial(Number(target.port || 5432), target.hostname);
    for (const side of [near, far]) {
      open.add(side);
      side.on('error', () => undefined).on('close', () => [near, far].map((each) => each.destroy()));
    }
    let isBegun = false;
    near.on('data', (piece: Buffer) => {
      if (isBegun || piece.readInt32BE(4) === 80_877_103) return void far.write(piece);
      isBegun = true;
      const refused = unknown.find((name) => piece.includes(`${name}\0`));
      if (refused === undefined) return void far.write(piece);
      const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: ${refused}\0\0`);
      const head = Buffer.from([0x45, 0, 0, 0, 0]);
      head.writeInt32BE(fields.length + 4, 1);
      near.end(Buffer.concat([head, fields]));
    });
    far.on('data', (piece) => near.writable && near.write(piece));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(database.url);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    stop: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

test('the server knows every limit, and each is shorter than the patience of the client', async () => {
  const reports: unknown[] = [];
  const patience = await agreeOnLimits(database.url, WITHIN, (about) => reports.push(about));
  expect([patience, reports]).toEqual([{ answerWithin: WITHIN, limits: limitsFor(WITHIN) }, []]);
  const sql = connect(database.url, { max: 1, ...patience });
  const rows = await sql<{ name: string; ms: number }[]>`
    select name, setting::float8 as ms from pg_settings where name = any(${Object.keys(patience.limits)}::text[]) order by name`;
  expect([...rows]).toEqual([
    { name: 'client_connection_check_interval', ms: 2_000 },
    { name: 'idle_in_transaction_session_timeout', ms: 10_000 },
    { name: 'lock_timeout', ms: 6_000 },
    { name: 'statement_timeout', ms: 8_000 },
  ]);
  await sql.end();
});

test('what a pooler or a platform refuses is left out and reported once; the connections work', async () => {
  const refused = ['lock_timeout', 'client_connection_check_interval'];
  const pooler = await startPooler(refused);
  const reports: { refused: readonly string[] }[] = [];
  const patience = await agreeOnLimits(pooler.url, WITHIN, (about) => reports.push(about));
  expect(reports).toMatchObject([{ refused }]);
  expect(Object.keys(patience.limits)).toEqual(['statement_timeout', 'idle_in_transaction_session_timeout']);
  const sql = connect(pooler.url, { max: 1, ...patience });
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }]);
  await sql.end();
  await pooler.stop();
}, 30_000);

test('a database that cannot be reached is left to the next connection, which says what is wrong', async () => {
  const reports: unknown[] = [];
  const patience = await agreeOnLimits('postgres://127.0.0.1:1/none', WITHIN, (about) => reports.push(about));
  expect([patience.limits, reports]).toEqual([limitsFor(WITHIN), []]);
});

test('a statement whose client is gone ends, although it would run on', async () => {
  const sockets: Socket[] = [];
  const target = new URL(database.url);
  const relay = createServer((near) => {
    const far = dial(Number(target.port || 5432), target.hostname);
    sockets.push(near, far);
    for (const side of [near, far]) side.on('error', () => undefined);
    near.pipe(far).pipe(near);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const url = new URL(database.url);
  url.hostname = '127.0.0.1';
  url.port = String((relay.address() as AddressInfo).port);
  const sql = connect(url.href, { max: 1, name: 'killed', limits: { client_connection_check_interval: 100 } });
  const running = sql`select pg_sleep(600)`.then(
    () => 'answered',
    () => 'refused',
  );
  const atWork = async () =>
    (await database.sql`select from pg_stat_activity where application_name = 'purchase-watch killed'`).length;
  await expect.poll(atWork, { timeout: 20_000 }).toBe(1);
  for (const socket of sockets) socket.destroy();
  expect(await running).toBe('refused');
  await expect.poll(atWork, { timeout: 20_000 }).toBe(0);
  await sql.end({ timeout: 0 });
  relay.close();
}, 60_000);
