import { afterAll, beforeAll, expect, test } from 'vitest';
import { newIdProblem } from '../../../src/domain/purchases/purchase-id.ts';
import { databaseOf } from '../../cli/command.ts';
import type { TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('default');
});
afterAll(() => database.drop());

const problems = (ids: readonly string[]) =>
  database.sql<{ id: string; problem: string | null }[]>`
    select id, purchase_watch_internal.id_problem(id) as problem from unnest(${ids as string[]}::text[]) as id`;

test('SQL refuses each character of Unicode that the other doors refuse, at any place of an id, and no other', async () => {
  const points = Array.from({ length: 0x10_ffff }, (_, at) => at + 1).filter((point) => point < 0xd800 || point > 0xdfff);
  // Control characters are for the constraint of the table.
  const ids = points.map((point) => `1${String.fromCodePoint(point)}2`).filter((id) => !/\p{Cc}|[\u2028\u2029]/u.test(id));
  const differ = (await problems(ids)).filter(({ id, problem }) => (problem === null) !== (newIdProblem(id) === null));
  expect(differ.map(({ id }) => id.codePointAt(1)!.toString(16))).toEqual([]);
  const ends = ids.slice(0, 0xff00).flatMap((id) => [id.slice(0, -1), id.slice(1)].filter((each) => each === each.trim()));
  const endsDiffer = (await problems(ends)).filter(({ id, problem }) => (problem === null) !== (newIdProblem(id) === null));
  expect(endsDiffer.map(({ id }) => JSON.stringify(id))).toEqual([]);
});

test.each([
  ...['#N/A', '#REF!', '#VALUE!', '#DIV/0!', '#NAME?', '#NV', '#N/D', '#SAKNAS!', '#PUUTTUU!', '#BEZUG!', '#ЗНАЧ!', '#######'],
  ...['1.23E+15', '1,23E+15', '1E+15', '-1.5e+20'],
  ...['purchase_id', 'Purchase ID', 'PURCHASE-ID', 'purchaseid'],
  ...['"a1"', "'a1", '\u201ca1\u201d', '\u201ea1\u201c', '\u00aba1\u00bb', 'a1"', '="a1"'],
  ...['a1;O1', 'a1|O1', 'a1,O1', 'sep=;', '.', '..', 'a\u200b1', 'a\u00a01'],
])('%j is no id, in SQL as at the other doors', async (id) => {
  expect(newIdProblem(id)).not.toBeNull();
  expect((await problems([id]))[0]!.problem).not.toBeNull();
  await expect(database.sql`insert into purchase_watch.purchases (purchase_id) values (${id})`).rejects.toThrow(/^purchase_id/);
});

test.each([
  '3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11',
  '93810e12',
  '1e15',
  '3E5',
  '#a',
  'a b',
  'urn:uuid:1',
  "a'b",
  'a=b',
  'ID',
  '漢',
  'NV',
  '...',
])('%j may be an id', async (id) => {
  expect(newIdProblem(id)).toBeNull();
  expect((await problems([id]))[0]!.problem).toBeNull();
});
