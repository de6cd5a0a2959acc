/** Times that were written ahead of a clock that was set back by five hours. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Detection } from '../../../src/domain/incidents/detection.ts';
import { newDetection } from '../../../src/domain/incidents/detection.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { moveTimesBack } from '../../../src/postgres/shards/move-times-back.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const BY = 5 * HOUR;
const now = 1_800_000_000_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'no']);
});
afterEach(() => database.drop());

const at = (minutes: number) => database.sql`to_timestamp(${(now + minutes * MINUTE) / 1_000}::float8)`;
/** Minutes from now, of every time in a table, row by row. */
const minutes = async (table: string, columns: string): Promise<unknown[]> => {
  const rows = await database.sql<Record<string, number | null>[]>`
    select ${database.sql.unsafe(columns)} from ${database.sql(`purchase_watch_internal.${table}`)} order by 1 nulls first`;
  return rows.map((row) => Object.values(row).map((time) => (time === null ? null : (time - now) / MINUTE)));
};
/** More than once, as each replica does it. */
async function setBack(): Promise<void> {
  for (let replica = 0; replica < 3; replica++) await moveTimesBack(database.sql, { now, by: BY });
}

test('incidents and sites keep how long each thing has lasted, and what came first', async () => {
  await database.sql`
    insert into purchase_watch_internal.incidents (id, kind, site, opened_at, since, said_at, said_count, said_severity, announced_at, reopened_at, count, peak)
    values ('inc_new', 'unreachable', 'se', ${at(290)}, ${at(280)}, ${at(295)}, 1, 0, ${at(294)}, ${at(293)}, 1, 1),
      ('inc_old', 'unreachable', 'no', ${at(-60)}, ${at(-70)}, ${at(-50)}, 1, 0, ${at(-51)}, null, 1, 1)`;
  await database.sql`
    update purchase_watch_internal.sites set failing_since = ${at(280)}, first_look_since = ${at(299)}, digest_at = ${at(200)} where name = 'se'`;
  await database.sql`update purchase_watch_internal.leases set done_at = ${at(250)} where name = 'upkeep'`;
  await setBack();
  expect(await minutes('incidents', 'opened_at, since, said_at, announced_at, reopened_at')).toEqual([
    [-60, -70, -50, -51, null],
    [-10, -20, -5, -6, -7],
  ]);
  expect(await minutes('sites', 'failing_since, first_look_since, digest_at')).toEqual([
    [null, null, null],
    [-20, -1, -100],
  ]);
  expect(await minutes('leases', 'done_at')).toContainEqual([-50]);
});

test('what ends later keeps its length when it was made ahead of the clock, and its end when it was not', async () => {
  await database.sql`
    insert into purchase_watch_internal.silences (created_at, starts_at, ends_at, reason, created_by)
    values (${at(295)}, ${at(295)}, ${at(415)}, 'deploy', 'me'), (${at(-5)}, ${at(600)}, ${at(700)}, 'planned', 'me')`;
  await database.sql`
    insert into purchase_watch_internal.idempotency_keys (scope, key_hash, request_hash, created_at, busy_until)
    values ('a', '\\x01', '\\x01', ${at(299)}, ${at(314)}), ('a', '\\x02', '\\x02', ${at(-1)}, ${at(14)})`;
  await setBack();
  expect(await minutes('silences', 'starts_at, ends_at')).toEqual([
    [-5, 115],
    [600, 700],
  ]);
  expect(await minutes('idempotency_keys', 'created_at, busy_until')).toEqual([
    [-1, 14],
    [-1, 14],
  ]);
});

test('what speaks for a broken page moves with the stays that it was learned from', async () => {
  const is = (offset: number): Detection => {
    const time = (before: number): number => now + (offset - before) * MINUTE;
    const alarm = { rule: 'share', entrants: 4, overdue: 4, usualShare: 0.05, perDay: 100, falseAlarmEvery: 5_700 } as const;
    return {
      ...newDetection('se', 6),
      ...{ countedFrom: time(600), lastWellAt: time(50), wellSince: [time(3), time(2)], noneOverdueSince: time(1) },
      run: { since: time(40), entrants: 4, overdue: 4, customers: ['1'], overdueAfter: 900_000 },
      row: { since: time(40), customers: ['1'] },
      alarm: { ...alarm, at: time(5), since: time(40) },
    };
  };
  await database.sql`
    insert into purchase_watch_internal.detections (site, state, memory)
    values ('se', 6, ${JSON.stringify({ ...is(300), countedFrom: now - 600 * MINUTE })}), ('no', 6, ${JSON.stringify(is(-1))})`;
  await database.sql`
    insert into purchase_watch_internal.stays (customer, entered_at, at, shortest_ms, longest_ms, state, to_state, site, outcome, first_sight, found_late)
    values (1, ${at(270)}, ${at(285)}, 900000, 900000, 6, null, 'se', 'overdue', false, false)`;
  await setBack();
  const [no, se] = await database.sql<{ memory: string }[]>`select memory from purchase_watch_internal.detections order by site`;
  expect(JSON.parse(no!.memory)).toEqual(is(-1));
  expect(JSON.parse(se!.memory)).toEqual(is(0));
  expect(await minutes('stays', 'entered_at, at')).toEqual([[-30, -15]]);
});
