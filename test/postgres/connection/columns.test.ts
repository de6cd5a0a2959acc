import { afterAll, beforeAll, expect, test } from 'vitest';
import { columns } from '../../../src/postgres/connection/columns.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test('rows arrive as they are: text with quotes, times to the microsecond, null, and their place', async () => {
  const { sql } = database;
  const rows = [
    { id: 1, text: `a"b\\c{,} 'NULL'`, at: 1_795_399_538_123.456, isOn: true, day: '2026-11-23' },
    { id: 2, text: 'NULL', at: null, isOn: false, day: null },
    { id: 3, text: null, at: 0, isOn: null, day: '2026-11-24' },
    { id: 4, text: '', at: Number.POSITIVE_INFINITY, isOn: true, day: null },
  ];
  const found = await sql`
    select r.id::float8 as id, r.text, r.at, r.is_on as "isOn", r.day::text as day, r.place::float8 as place from ${columns(
      sql,
      rows,
      'r',
      {
        id: ['bigint', (row) => row.id],
        text: ['text', (row) => row.text],
        at: ['timestamptz', (row) => row.at],
        is_on: ['boolean', (row) => row.isOn],
        day: ['date', (row) => row.day],
      },
      'place',
    )} order by r.place`;
  expect(found).toEqual(rows.map((row, index) => ({ ...row, place: index + 1 })));
});

test('columns that are fields of the rows are listed as SQL lists them', async () => {
  const { sql } = database;
  const rows = [
    { id: 1, enteredAt: 1_795_399_538_123.456, firstSight: true, note: 'a, "b"' },
    { id: 2, enteredAt: null, firstSight: null, note: null },
  ];
  const listed = columns(sql, rows, 'r', 'id bigint, entered_at timestamptz,\n first_sight boolean, note text', 'place');
  const found = await sql`
    select id::float8 as id, entered_at as "enteredAt", first_sight as "firstSight", note from ${listed} order by place`;
  expect(found).toEqual(rows);
});

test('no rows are an empty table', async () => {
  const { sql } = database;
  const none: { id: number }[] = [];
  expect(await sql`select id from ${columns(sql, none, 'r', { id: ['integer', (row) => row.id] })}`).toEqual([]);
});

test('the same columns are the same template, of which the driver keeps what it learned for ever', async () => {
  const { sql } = database;
  const given = new Set<unknown>();
  const watching = ((template: TemplateStringsArray, ...values: never[]) => {
    given.add(template);
    return sql(template, ...values);
  }) as typeof sql;
  for (const rows of [[{ id: 1 }], [{ id: 2 }, { id: 3 }], []]) {
    const taken = await sql`select id from ${columns(watching, rows, 'r', { id: ['integer', (row) => row.id] })} order by id`;
    expect(taken).toEqual(rows);
  }
  expect(given.size).toBe(1);
  await sql`select id from ${columns(watching, [{ id: 1 }], 's', { id: ['bigint', (row) => row.id] })}`;
  expect(given.size).toBe(2);
});
