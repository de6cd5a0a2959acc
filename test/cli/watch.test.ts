import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFile } from '../config/files.ts';
import type { TestDatabase } from '../support/database.ts';
import { databaseOf, onDatabase } from './command.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se', 'fi');
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.sql`truncate purchase_watch.purchases cascade`;
});

const watch = (argv: readonly string[], input?: string) => onDatabase(database, ['watch', ...argv], input);
const watched = () =>
  database.sql`select purchase_id as id, site, reference, metadata::text as metadata from purchase_watch.purchases order by id`;

test('ids are registered once, and what to do without a daemon is said', async () => {
  const first = await watch(['a', 'b', '--site', 'se', '--reference', 'ORD-1', '--metadata', '{"cart": 7.50}']);
  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(first.stdout).toBe(
    'created   a\ncreated   b\nRegistered, but no daemon is running on this database; start one with "purchase-watch start".\n',
  );
  expect((await watch(['a', '--site', 'se'])).stdout).toMatch(/^existing {2}a$/m);
  expect(await watched()).toEqual([
    { id: 'a', site: 'se', reference: 'ORD-1', metadata: '{"cart": 7.50}' },
    { id: 'b', site: 'se', reference: 'ORD-1', metadata: '{"cart": 7.50}' },
  ]);
});

test('--json says what became of each id', async () => {
  const { stdout } = await watch(['a', '--site', 'fi', '--json']);
  expect(JSON.parse(stdout)).toEqual({
    created: 1,
    existing: 0,
    rejected: 0,
    purchases: [{ purchaseId: 'a', result: 'created' }],
    daemons: 0,
  });
});

describe('wrong arguments', () => {
  test.each<[string, readonly string[], RegExp]>([
    ['no ids', [], /name at least one purchase ID/],
    ['a mistyped site', ['a', '--site', 'see'], /"see" is not a site \(did you mean se\?\); there are fi, se/],
    ['no site where there are several', ['a'], /no site is given, and there are several: fi, se/],
    ['an empty id', ['', '--site', 'se'], /the purchase ID is empty/],
    ['an endless id', ['x'.repeat(201), '--site', 'se'], /201 characters long; at most 200/],
    ['metadata that is no object', ['a', '--site', 'se', '--metadata', '[7]'], /the metadata must be a JSON object/],
    ['metadata that is no JSON', ['a', '--site', 'se', '--metadata', '{cart}'], /the metadata is not JSON/],
    ['a missing file', ['--site', 'se', '--file', '/nowhere/ids.csv'], /there is no such file/],
    ['a folder', ['--site', 'se', '--file', '/'], /is a folder/],
  ])('%s: exit code 2, nothing registered', async (_, argv, message) => {
    const { exitCode, stdout, stderr } = await watch(argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(await watched()).toEqual([]);
  });

  test('one wrong id of several keeps all of them out, and each is named', async () => {
    const { exitCode, stderr } = await watch(['good', ' a', '', '--site', 'se']);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^error: 2 problems\n {2}" a": .*\n {2}"": .*\n$/);
    expect(await watched()).toEqual([]);
  });
});

describe('files', () => {
  test('plain ids, with either line end and a byte order mark', async () => {
    const { exitCode, stdout } = await watch(['--site', 'se', '--file', '-'], '\ufeffa\r\n\r\n b \nc');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^3 purchases created, 0 existing already$/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('CSV by its header, quoted cells and other separators included', async () => {
    const csv = 'Purchase ID;Reference;metadata;colour\na;"R;1";"{""cart"": 7.50}";red\nb\n';
    const { exitCode, stderr } = await watch(['--site', 'fi', '--file', temporaryFile(csv, 'orders.csv')]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'not used: colour\n' });
    expect(await watched()).toEqual([
      { id: 'a', site: 'fi', reference: 'R;1', metadata: '{"cart": 7.50}' },
      { id: 'b', site: 'fi', reference: null, metadata: null },
    ]);
  });

  test('JSON lines, each with its own site', async () => {
    const lines = '{"purchaseId": "a", "site": "se", "metadata": {"n": 1.10}}\n"b"\n';
    expect((await watch(['--site', 'fi', '--file', temporaryFile(lines, 'orders.jsonl')])).exitCode).toBe(0);
    expect(await watched()).toEqual([
      { id: 'a', site: 'se', reference: null, metadata: '{"n": 1.10}' },
      { id: 'b', site: 'fi', reference: null, metadata: null },
    ]);
  });

  test('bad lines are told by number and the others registered, also the second time', async () => {
    const csv = 'purchase_id,site,metadata\na,se,\n,se,\nb,sf,\nc,se,[1]\nd,se,,,\n"e"f,se,\ng,fi,\n';
    for (const tally of ['2 purchases created, 0 existing', '0 purchases created, 2 existing']) {
      const { exitCode, stdout, stderr } = await watch(['--file', '-'], csv);
      expect(exitCode).toBe(1);
      expect(stdout).toContain(tally);
      expect(stderr.match(/^line \d+/gm)).toEqual(['line 3', 'line 4', 'line 5', 'line 6', 'line 7']);
      expect(stderr).toMatch(/^line 4: "sf" is not a site/m);
      expect(stderr).toMatch(/error: 5 lines could not be registered/);
    }
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'g']);
  });

  test('what only the database refuses costs that line alone', async () => {
    await database.sql`alter table purchase_watch.purchases add constraint picky check (purchase_id <> 'id-777')`;
    const ids = Array.from({ length: 2_345 }, (_, index) => `id-${index + 1}`);
    const { exitCode, stdout, stderr } = await watch(['--site', 'se', '--file', '-'], ids.join('\n'));
    await database.sql`alter table purchase_watch.purchases drop constraint picky`;
    expect(exitCode).toBe(1);
    expect(stdout).toContain('2 344 purchases created');
    expect(stderr).toMatch(/^line 777: .*picky/m);
  });

  test.each<[string, string, RegExp]>([
    ['a JSON array', '[{"purchaseId": "a"}]', /JSON array; write one object a line/],
    ['columns without a purchase ID', 'id,site\na,se\n', /none is named purchase_id/],
    ['a mistyped header', 'purchaes_id,site\na,se\n', /none is named purchase_id \(is it "purchaes_id"\?\)/],
    ['a mistyped header of one column', 'purchaseids\na\n', /line 1: "purchaseids" looks like a header; it must be purchase_id/],
  ])('%s is refused as a whole', async (_, text, message) => {
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], text);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('a line without end takes no memory and no id', async () => {
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], `a\n${'x'.repeat(1_000_000)}\nb\n`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^line 2: is far too long/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'b']);
  });
});
