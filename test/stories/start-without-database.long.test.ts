/** A start without a database: it waits for what passes by itself, says so, and ends for what a person must mend. */
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startWire, type Wire } from '../support/wire.ts';

let database: TestDatabase;
let wire: Wire;
/** What the server answers to a new session in place of Postgres: a code and a message; null: Postgres answers. */
let refusal: readonly [code: string, message: string] | null;
beforeEach(async () => {
  refusal = null;
  database = await testDatabase();
  wire = await startWire(database.url, () => ({
    up: (chunk, line) => {
      if (refusal === null) return chunk;
      const fields = Buffer.from(`SFATAL\0C${refusal[0]}\0M${refusal[1]}\0\0`, 'latin1');
      const length = Buffer.alloc(4);
      length.writeInt32BE(fields.length + 4);
      const isAboutTls = chunk.length === 8;
      line.answer(isAboutTls ? 'N' : `E${length.toString('latin1')}${fields.toString('latin1')}`);
      return Buffer.alloc(0);
    },
    down: (chunk) => (refusal === null ? chunk : Buffer.alloc(0)),
  }));
});
afterEach(async () => {
  await wire.stop();
  await database.drop();
});

function run(command: string, url: string): Daemon {
  const site = { CHECKOUT_BASE_URL: 'http://127.0.0.1:9', CHECKOUT_CLIENT_ID: 'a', CHECKOUT_CLIENT_SECRET: 'b' };
  const daemon = startDaemon([command], { ...site, DATABASE_URL: url, PORT: '0' });
  onTestFinished(async () => void (await daemon.end('SIGKILL')));
  return daemon;
}
const linesOf = (daemon: Daemon, event: string): string[] =>
  daemon
    .output()
    .split('\n')
    .filter((line) => line.includes(`"event":"${event}"`));

test('a start waits for a server that is not there and then begins, says each reason once, and goes on by itself', async () => {
  await wire.spoil({ kind: 'refused' });
  const daemon = run('start', wire.url);
  await daemon.says('"event":"database.not_reached"');
  const url = /"url":"(http[^"]+)"/.exec(daemon.output())![1]!;
  const probe = async (path: string) => (await fetch(url + path)).status;
  expect([await probe('/healthz'), await probe('/readyz')]).toEqual([200, 503]);
  // A load balancer that has no server behind it.
  await wire.spoil({ kind: 'closed' });
  await daemon.says('the server closed the connection');
  refusal = ['57P03', 'the database system is starting up'];
  await wire.spoil(null);
  await daemon.says('the database system is starting up');
  refusal = ['53300', 'sorry, too many clients already'];
  await daemon.says('it has no free connections');
  refusal = null;
  await daemon.says('"event":"started"');
  expect(linesOf(daemon, 'database.not_reached').map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 'warn', detail: expect.stringContaining('connection refused'), advice: expect.any(String) }),
    expect.objectContaining({ detail: expect.stringContaining('the server closed the connection') }),
    expect.objectContaining({ detail: expect.stringContaining('it does not take connections yet') }),
    expect.objectContaining({ detail: expect.stringContaining('it has no free connections') }),
  ]);
  await daemon.says('"database.reached"');
  expect(await daemon.end('SIGTERM')).toBe(0);
}, 120_000);

test.each([
  ['refuses', { kind: 'refused' }],
  ['closes', { kind: 'closed' }],
  ['says nothing', { kind: 'black hole' }],
] as const)(
  'SIGTERM ends a start at once whose server %s',
  async (_, fault) => {
    await wire.spoil(fault);
    const daemon = run('start', wire.url);
    await daemon.says(fault.kind === 'black hole' ? 'waiting for the database' : '"event":"database.not_reached"');
    const began = performance.now();
    expect(await daemon.end('SIGTERM')).toBe(0);
    expect(performance.now() - began).toBeLessThan(4_000);
  },
  60_000,
);

test.each([
  ['28P01', 'password authentication failed for user "shop"', 'the password is not accepted'],
  ['3D000', 'database "shop" does not exist', 'create it first'],
  ['28000', 'role "shop" does not exist', 'role "shop" does not exist'],
])(
  'a start ends for what a person must mend: %s',
  async (code, message, said) => {
    refusal = [code, message];
    const daemon = run('start', wire.url);
    await daemon.says('"event":"start.failed"');
    await expect.poll(() => daemon.process.exitCode).toBe(1);
    const [failed] = linesOf(daemon, 'start.failed');
    expect(`${failed}`).toMatch(/"message":"cannot reach Postgres at 127\.0\.0\.1:\d+/);
    expect(`${failed}`).toContain(JSON.stringify(said).slice(1, -1));
    expect(linesOf(daemon, 'database.not_reached')).toEqual([]);
  },
  60_000,
);

test('migrate waits for nothing', async () => {
  await wire.spoil({ kind: 'refused' });
  const daemon = run('migrate', wire.url);
  await daemon.says('error: cannot reach Postgres');
  await expect.poll(() => daemon.process.exitCode).toBe(1);
}, 60_000);
