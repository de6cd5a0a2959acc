import { afterAll, beforeAll, expect, test } from 'vitest';
import { newIdProblem } from '../../../src/domain/purchases/purchase-id.ts';
import { databaseOf } from '../../cli/command.ts';
import { REFUSED, TAKEN } from '../../domain/purchases/ids.ts';
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
  // Unicode has given out characters in the first four planes and in the fifteenth; of the others their ends, and one in a hundred.
  const isTried = (point: number): boolean =>
    point < 0x4_0000 || point >> 16 === 0xe || point % 0x1_0000 > 0xff00 || point % 97 === 0;
  const points = Array.from({ length: 0x10_ffff }, (_, at) => at + 1).filter(
    (point) => (point < 0xd800 || point > 0xdfff) && isTried(point),
  );
  // Control characters are for the constraint of the table.
  const ids = points.map((point) => `1${String.fromCodePoint(point)}2`).filter((id) => !/\p{Cc}|[\u2028\u2029]/u.test(id));
  const differ = (await problems(ids)).filter(({ id, problem }) => (problem === null) !== (newIdProblem(id) === null));
  expect(differ.map(({ id }) => id.codePointAt(1)!.toString(16))).toEqual([]);
  const ends = ids.slice(0, 0xff00).flatMap((id) => [id.slice(0, -1), id.slice(1)].filter((each) => each === each.trim()));
  const endsDiffer = (await problems(ends)).filter(({ id, problem }) => (problem === null) !== (newIdProblem(id) === null));
  expect(endsDiffer.map(({ id }) => JSON.stringify(id))).toEqual([]);
});

test.each(REFUSED.flatMap(([, ids]) => ids))('%j is no id, in SQL as at the other doors', async (id) => {
  expect((await problems([id]))[0]!.problem).not.toBeNull();
  await expect(database.sql`insert into purchase_watch.purchases (purchase_id) values (${id})`).rejects.toThrow(/^purchase_id/);
});

test('what only looks a little like these may be an id in SQL, too', async () => {
  expect((await problems(TAKEN)).filter(({ problem }) => problem !== null)).toEqual([]);
});
