import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { temporaryFile } from '../../config/files.ts';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf, onDatabase } from '../command.ts';

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
    watchedAgain: 0,
    rejected: 0,
    purchases: [{ purchaseId: 'a', result: 'created' }],
    replicas: 0,
  });
});

test('of a file it is said when its first polls may be expected, beside what waits already', async () => {
  const { sql } = database;
  await sql`
    insert into purchase_watch_internal.replicas (id, process, expires_at) values ('rep_1', 'here', now() + interval '1 minute'), ('rep_2', 'there', now() + interval '1 minute')`;
  await sql`update purchase_watch_internal.shards set owner = 'rep_1'`;
  await sql`insert into purchase_watch.purchases (purchase_id, site) select 'before-' || i, 'se' from generate_series(1, 60) i`;
  const file = (name: string, count: number): string =>
    temporaryFile(Array.from({ length: count }, (_, index) => `${name}-${index}`).join('\n'));
  try {
    const unknown = await watch(['--file', file('a', 140), '--site', 'se']);
    expect(unknown.stdout).toMatch(/200 purchases of site se .* at a time that is not known, because no daemon has said/);
    await sql`
      insert into purchase_watch_internal.site_calls (site, replica, breaker, breaker_since, calls_per_second, ceiling, has_token)
      values ('se', 'rep_1', 'closed', now(), 1, 30, false), ('se', 'rep_2', 'closed', now(), 1, 20, false)`;
    const many = await watch(['--file', file('b', 20_000), '--site', 'se']);
    expect(many.stdout).toContain(
      'A daemon is running: 20 200 purchases of site se that were registered together get their first polls within about 6 min 44 s at 50 calls a second; purchases that are registered one by one go first.',
    );
    const json = await watch(['--file', file('a', 140), '--site', 'se', '--json']);
    expect(JSON.parse(json.stdout).firstPolls).toEqual({ waiting: 20_200, withinMs: 404_000 });
    // By itself.
    expect((await watch(['single', '--site', 'se'])).stdout).toContain('polls them within seconds');

    const status = await onDatabase(database, ['status']);
    expect(status.stdout).toMatch(
      /20 20[01] first polls of bulk registrations at site se to come, within about 6 min 4[45] s at 50 calls a second/,
    );
    const why = await onDatabase(database, ['why', 'b-19999', '--site', 'se']);
    expect(why.stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /about \d\d 000 of the first polls of bulk registrations at site se come before its own, which is made within about \d min .* at 50 calls a second/,
    );
    const ahead = Number(/about (\d+) 000 of the first polls/.exec(why.stdout.replaceAll(/\s+/g, ' '))![1]) * 1_000;
    expect(ahead).toBeGreaterThan(15_000);
  } finally {
    await sql`update purchase_watch_internal.shards set owner = null`;
    await sql`delete from purchase_watch_internal.replicas`;
  }
});

test('what was stopped is watched again, and that is said', async () => {
  await watch(['a', 'b', '--site', 'se']);
  const stop = () => database.sql`
    update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null where purchase_id = 'a'`;
  await stop();
  const { stdout } = await watch(['a', 'b', 'c', '--site', 'se']);
  expect(stdout).toMatch(/^watched again {2}a\nexisting {7}b\ncreated {8}c\n/);
  await stop();
  expect((await watch(['--site', 'se', '--file', '-'], 'a\nb\n')).stdout).toMatch(
    /^0 new, 2 known before, 1 of them watched again$/m,
  );
  await stop();
  expect(JSON.parse((await watch(['a', '--site', 'se', '--json'])).stdout)).toMatchObject({
    created: 0,
    existing: 1,
    watchedAgain: 1,
    purchases: [{ purchaseId: 'a', result: 'watched again' }],
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
    expect(stdout).toMatch(/^3 new, 0 known before$/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  test('CSV by its header, quoted cells and other separators included', async () => {
    const csv = 'Purchase ID;Reference;metadata;colour\na;"R;1";"{""cart"": 7.50}";red\nb;;;\n';
    const { exitCode, stderr } = await watch(['--site', 'fi', '--file', temporaryFile(csv, 'orders.csv')]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'not used: colour\n' });
    expect(await watched()).toEqual([
      { id: 'a', site: 'fi', reference: 'R;1', metadata: '{"cart": 7.50}' },
      { id: 'b', site: 'fi', reference: null, metadata: null },
    ]);
  });

  test('CSV with cells that go on in the next line, as spreadsheets write them', async () => {
    const csv = 'purchase_id,note,metadata\r\na,"first\r\n\r\nsecond ""quoted""\r\nthird",\r\nb,,"{""cart"":\r\n 7}"\r\nc,x,\r\n';
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], csv);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: 'not used: note\n' });
    expect((await watched()).map(({ id, metadata }) => [id, metadata])).toEqual([
      ['a', null],
      ['b', '{"cart": 7}'],
      ['c', null],
    ]);
  });

  test('a quotation mark that nobody closes spoils its own line only', async () => {
    const csv = `purchase_id,reference\na,"R-1\nb,R-2\nc,"R-3\n"d",\n${Array.from({ length: 300 }, (_, i) => `e-${i},`).join('\n')}\nf,"`;
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], csv);
    expect(exitCode).toBe(1);
    expect(stderr.match(/^line \d+: a quotation mark is missing/gm)).toHaveLength(3);
    expect(stderr.match(/^line \d+/gm)).toEqual(['line 2', 'line 4', 'line 306']);
    const ids = (await watched()).map(({ id }) => id);
    expect([ids.length, ids.filter((id) => !/^e-\d+$/.test(id))]).toEqual([302, ['b', 'd']]);
  });

  test('a record of several lines that is bad is told with both ends, and no part of it is taken for an id', async () => {
    const csv = 'purchase_id,site,note\na,xx,"first\nsecond\nthird"\nb,se,\n';
    const { exitCode, stderr } = await watch(['--file', '-'], csv);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^line 2: "xx" is not a site.* \(the record ends in line 4\)$/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['b']);
  });

  test('an empty first cell is an empty id, whatever separates the cells', async () => {
    const { stderr } = await watch(['--file', '-'], 'purchase_id\tsite\n\tse\nb\tse\n');
    expect(stderr).toMatch(/^line 2: the purchase ID is empty/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['b']);
  });

  test('of an id that comes again far below, the first line counts', async () => {
    const filler = Array.from({ length: 12_000 }, (_, index) => `f-${index},`);
    const csv = ['purchase_id,reference', 'a,first', ...filler.slice(0, 6_000), 'a,second', ...filler.slice(6_000), 'a,third'];
    const { stdout } = await watch(['--site', 'se', '--file', '-'], csv.join('\n'));
    expect(stdout).toContain('12 001 new, 2 known before');
    expect((await watched()).find(({ id }) => id === 'a')).toMatchObject({ reference: 'first' });
    const by = await database.sql`select distinct registered_by from purchase_watch.purchases`;
    expect(by).toEqual([{ registeredBy: 'cli' }]);
  });

  test('--json lists the bad lines, and standard error tells them as well', async () => {
    const { exitCode, stdout, stderr } = await watch(['--file', '-', '--json'], 'purchase_id,site\na,se\nb,xx\n');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      created: 1,
      rejected: 1,
      problems: [{ line: 3, problem: expect.stringMatching(/^"xx" is not a site/) }],
    });
    expect(stderr).toMatch(/^line 3: "xx" is not a site/m);
  });

  test('--quiet writes nothing when all is well', async () => {
    expect(await watch(['--site', 'se', '--file', '-', '--quiet'], 'a\nb\n')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(await watched()).toHaveLength(2);
  });

  test('a database that goes away says how far it came, and the second time registers the rest', async () => {
    await database.sql.unsafe(`
      create function leave() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
      create trigger leave before insert on purchase_watch.purchases for each row when (new.purchase_id = 'id-11000') execute function leave()`);
    const ids = Array.from({ length: 12_000 }, (_, index) => `id-${index}`).join('\n');
    const broken = await watch(['--site', 'se', '--file', '-'], ids);
    await database.sql.unsafe('drop trigger leave on purchase_watch.purchases; drop function leave');
    expect(broken.exitCode).toBe(1);
    expect(broken.stderr).toMatch(
      /^All up to line 10000 is registered: 10 000 new, 0 known before\. Running the same again is safe, and registers the rest\.$/m,
    );
    expect((await watch(['--site', 'se', '--file', '-'], ids)).stdout).toContain('2 000 new, 10 000 known before');
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
    for (const tally of ['2 new, 0 known before', '0 new, 2 known before']) {
      const { exitCode, stdout, stderr } = await watch(['--file', '-'], csv);
      expect(exitCode).toBe(1);
      expect(stdout).toContain(tally);
      expect(stderr.match(/^line \d+/gm)).toEqual(['line 3', 'line 4', 'line 5', 'line 6', 'line 7']);
      expect(stderr).toMatch(/^line 4: "sf" is not a site/m);
      expect(stderr).toMatch(/error: 5 lines could not be registered/);
    }
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'g']);
  });

  test.each(['', '\n\n', 'purchase_id,site\n', 'purchase_id,site\n,\n"",""\n'])(
    'a file without purchases (%j) fails',
    async (text) => {
      expect(await watch(['--site', 'se', '--file', '-'], text)).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: 'error: the file holds no purchase IDs; nothing was registered\n',
      });
    },
  );

  test('what only the database refuses costs that line alone', async () => {
    await database.sql`alter table purchase_watch.purchases add constraint picky check (purchase_id <> 'id-777')`;
    const ids = Array.from({ length: 2_345 }, (_, index) => `id-${index + 1}`);
    const { exitCode, stdout, stderr } = await watch(['--site', 'se', '--file', '-'], ids.join('\n'));
    await database.sql`alter table purchase_watch.purchases drop constraint picky`;
    expect(exitCode).toBe(1);
    expect(stdout).toContain('2 344 new');
    expect(stderr).toMatch(/^line 777: .*picky/m);
  });

  test.each<[string, string, RegExp]>([
    ['a JSON array', '[{"purchaseId": "a"}]', /JSON array; write one object a line/],
    ['an object over several lines', '{\n  "purchaseId": "a"\n}', /JSON over several lines; write one object a line/],
    ['columns without a purchase ID', 'id,site\na,se\n', /none is named purchase_id/],
    ['a mistyped header', 'purchaes_id,site\na,se\n', /none is named purchase_id \(is it "purchaes_id"\?\)/],
    ['a mistyped header of one column', 'purchaseids\na\n', /line 1: "purchaseids" looks like a header; it must be purchase_id/],
  ])('%s is refused as a whole', async (_, text, message) => {
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], text);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
  });

  test('what is not UTF-8 is no id and no reference: other characters would stand in its place', async () => {
    const latin = Buffer.from('purchase_id,größe,reference\np-1,1,Müller\np-2,2,Meier\n', 'latin1');
    const csv = await watch(['--site', 'se', '--file', temporaryFile(latin, 'latin.csv')]);
    expect([csv.exitCode, csv.stderr]).toEqual([1, expect.stringMatching(/^line 2: is not UTF-8/m)]);
    const ids = await watch(['--site', 'se', '--file', temporaryFile(Buffer.from('a\xe5b\na\xe4b\n', 'latin1'), 'ids.txt')]);
    expect(ids.stdout).toMatch(/^0 new, 0 known before$/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['p-2']);
  });

  test('among plain ids, a line of another kind is told instead of taken for an id', async () => {
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], 'a\n{"purchaseId":"b"}\nc,ORD-1\nd\n');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^line 2: is JSON.*\nline 3: has several columns/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'd']);
  });

  test('a JSON array is refused as a whole whatever the file is called', async () => {
    const file = temporaryFile('[\n{"purchaseId": "a"}\n]\n', 'orders.jsonl');
    expect(await watch(['--site', 'se', '--file', file])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/JSON array/),
    });
  });

  test('a line without end takes no memory and no id', async () => {
    const { exitCode, stderr } = await watch(['--site', 'se', '--file', '-'], `a\n${'x'.repeat(1_000_000)}\nb\n`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^line 2: is far too long/m);
    expect((await watched()).map(({ id }) => id)).toEqual(['a', 'b']);
  });
});
