import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../../src/main.ts';
import { register } from '../../../src/postgres/purchases/purchases.ts';
import { startTestApi } from '../../api/api.ts';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf, onDatabase } from '../command.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se', 'fi');
});
afterAll(() => database.drop());
const command = (...argv: string[]) => onDatabase(database, ['forget', ...argv]);
const watch = (purchaseId: string, site = 'se') =>
  register(database.sql, [{ purchaseId, site, reference: `ORD-${purchaseId}`, metadata: null }]);
const isThere = async (purchaseId: string): Promise<boolean> =>
  (await database.sql`select from purchase_watch.purchases where purchase_id = ${purchaseId}`).count > 0;

/** Answers the question as somebody at a terminal. */
async function atTerminal(answer: string, ...argv: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(`${answer}\n`);
  const env = { DATABASE_URL: database.url, NO_COLOR: '1' };
  let said = '';
  stdout.on('data', (chunk) => {
    said += chunk;
  });
  const exitCode = await run(['forget', ...argv], { env, stdin, stdout, stderr, isTTY: true });
  return { exitCode, stdout: said, stderr: String(stderr.read() ?? '') };
}

test('without a terminal it wants --yes, and says what it would erase', async () => {
  await watch('asked');
  const { exitCode, stdout, stderr } = await command('asked');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('say --yes to do it, or --dry-run to see what would be erased');
  expect(stdout).toMatch(/^asked at site se, watching, registered at .*Z, with$/m);
  expect(await isThere('asked')).toBe(true);
});

test('--dry-run erases nothing', async () => {
  await watch('dry');
  const { exitCode, stdout } = await command('dry', '--dry-run');
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('Nothing was erased (--dry-run).') });
  expect(JSON.parse((await command('dry', '--dry-run', '--json')).stdout)).toMatchObject({
    erased: false,
    counts: { events: 0 },
  });
  expect(await isThere('dry')).toBe(true);
});

test('at a terminal it asks', async () => {
  await watch('terminal');
  expect(await atTerminal('no', 'terminal')).toMatchObject({ exitCode: 1, stderr: 'error: nothing was erased\n' });
  expect(await isThere('terminal')).toBe(true);
  const { exitCode, stdout } = await atTerminal('yes', 'terminal');
  expect({ exitCode, isThere: await isThere('terminal') }).toEqual({ exitCode: 0, isThere: false });
  expect(stdout).toContain('what was sent already to receivers and to Slack');
});

test('it leaves a line without the id, by which it knows later what it erased, and the id may come again', async () => {
  await watch('once');
  expect((await command('once', '--yes')).exitCode).toBe(0);
  const [line] = await database.sql<
    { text: string }[]
  >`select f::text as text from purchase_watch_internal.forgotten f order by at desc limit 1`;
  expect(line!.text).toMatch(/[0-9a-f]{64}.*user \S+, role \w+/);
  expect(line!.text).not.toContain('once');
  const again = await command('once', '--yes');
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/it was erased at 2\S+Z by user \S+, role \w+/) });
  await watch('once');
  expect((await command('once', '--yes')).exitCode).toBe(0);
});

test('of the same id at two sites it erases the one that is named', async () => {
  await watch('twice');
  await watch('twice', 'fi');
  expect(await command('twice', '--yes')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('choose one with --site'),
  });
  expect((await command('twice', '--yes', '--site', 'fi')).exitCode).toBe(0);
  const rows = await database.sql`select site from purchase_watch.purchases where purchase_id = 'twice'`;
  expect(rows).toEqual([{ site: 'se' }]);
});

test('an id that nobody knows is not found', async () => {
  expect(await command('nobody', '--yes')).toMatchObject({ exitCode: 1, stderr: 'error: "nobody" is not registered\n' });
});

test('it lists what people wrote about the purchase, which stays, with what changes it; so does the API, also afterwards', async () => {
  const { sql } = database;
  await watch('p-1');
  await sql`
    insert into purchase_watch_internal.silences (site, reason, created_by, starts_at, ends_at)
    values ('se', 'deploy for P-1', 'Kim', now(), now() + interval '1 hour'), ('se', 'not about p-12 or xp-1', 'Kim', now(), now() + interval '1 hour')`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, ended_at,
      acknowledged_at, acknowledged_by, acknowledged_note, answered_at, answered_by, answer_cause, answer_note)
    values ('inc_1', 'stuck', 'se', 6, now(), now(), 1, 1, now(), now(), 'Ann', 'called Jo of ORD-p-1, 070-1', now(), 'Bo', 'deploy', 'it was (p-1).')`;
  await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, description) values ('books', 'webhook', 'systems', 'x', 'for p-1 alone')`;
  const remarks = [
    { place: 'incident', id: 'inc_1', field: 'acknowledged note', by: 'Ann', text: 'called Jo of ORD-p-1, 070-1' },
    { place: 'incident', id: 'inc_1', field: 'answer note', by: 'Bo', text: 'it was (p-1).' },
    { place: 'silence', id: 'sil_1', field: 'reason', by: 'Kim', text: 'deploy for P-1' },
    { place: 'subscriber', id: 'books', field: 'description', by: null, text: 'for p-1 alone' },
  ];
  const sorted = (list: { place: string; field: string }[]) =>
    list.toSorted((a, b) => `${a.place} ${a.field}`.localeCompare(`${b.place} ${b.field}`));
  const { stdout } = await command('p-1', '--dry-run');
  expect(stdout).toMatch(/^People wrote about it; this stays, unless you change it:$/m);
  expect(stdout).toMatch(/^- incident inc_1, acknowledged note by Ann at \S+Z: "called Jo of ORD-p-1, 070-1"$/m);
  expect(stdout).toContain("update purchase_watch_internal.silences set reason = '…' where id = 1");
  expect(stdout).not.toContain('p-12');
  const api = await startTestApi({ sql, sites: ['se', 'fi'] });
  const asked = async () => (await api.call('GET', '/v1/purchases/p-1/remarks')).body;
  expect(sorted((await asked()).data)).toMatchObject(remarks);

  const erased = JSON.parse((await command('p-1', '--yes', '--json')).stdout);
  expect(erased).toMatchObject({ erased: true, remarks: expect.any(Array) });
  expect(sorted(erased.remarks)).toMatchObject(remarks);
  // The reference went with the purchase, so only its id is known; the texts are still there.
  const still = await asked();
  expect([still.isWhole, sorted(still.data)]).toMatchObject([true, remarks]);
  await api.close();
});
