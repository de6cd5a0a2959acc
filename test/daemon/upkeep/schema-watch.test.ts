import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSchemaWatch } from '../../../src/daemon/upkeep/schema-watch.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

let database: TestDatabase;
let log: string[];
let own: number;
beforeEach(async () => {
  database = await testDatabase();
  log = [];
  const [row] = await database.sql<{ own: number }[]>`select max(number) as own from purchase_watch_internal.migrations`;
  own = row!.own;
});
afterEach(() => database.drop());

const watch = () =>
  createSchemaWatch({
    sql: database.sql,
    own,
    log: createLogger({ level: 'info', destination: { write: (line: string) => log.push(line) } as never }),
  });
const add = (number: number, serves: number | null) =>
  database.sql`insert into purchase_watch_internal.migrations values (${number}, ${`${number}_next.sql`}, 'x', ${serves})`;

test('a daemon logs once that the schema became newer and goes on, and fails once it does not work with it', async () => {
  const { tick } = watch();
  await tick();
  expect(log).toEqual([]);
  await add(own + 1, own);
  await tick();
  await tick();
  expect(log.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      event: 'schema.newer',
      detail: expect.stringContaining('which works with it'),
    }),
  ]);
  await add(own + 2, own + 1);
  await expect(tick()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/it needs a version with schema \d+ or later/),
  });
  await database.sql`delete from purchase_watch_internal.migrations where number = ${own + 2}`;
  await add(own + 2, null);
  await expect(tick()).rejects.toThrow(/no older version works with it/);
});
