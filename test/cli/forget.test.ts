import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../../src/main.ts';
import { register } from '../../src/store/purchases.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseOf, onDatabase } from './command.ts';

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
  >`select f::text as text from purchase_watch.forgotten f order by at desc limit 1`;
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
