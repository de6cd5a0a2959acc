import { afterEach, beforeEach, expect, test } from 'vitest';
import { NOTHING_KNOWN } from '../../../src/domain/stays/usual.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { createUsualReader, RECENT } from '../../../src/postgres/stays/usual.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const NOW = Date.UTC(2026, 10, 20, 12);
let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se']);
});
afterEach(() => database.drop());

const stays = (day: string, well: number, overdue: number, calm = true) =>
  database.sql`insert into purchase_watch_internal.stay_days (site, state, day, calm, well, overdue) values ('se', 6, ${day}::text::date, ${calm}, ${well}, ${overdue})`;

test('nothing is known before the first reading, and then what calm days show', async () => {
  const usual = createUsualReader(database.sql);
  await stays('2026-11-18', 190, 10);
  await stays('2026-11-19', 0, 50, false);
  expect(usual.of('se', 6)).toEqual(NOTHING_KNOWN);
  await usual.refresh(NOW);
  expect(usual.of('se', 6)).toEqual({ share: 0.05, perDay: 100, counted: 200 });
  expect([usual.of('se', 4), usual.of('no', 6)]).toEqual([NOTHING_KNOWN, NOTHING_KNOWN]);
});

test('it is read again after ten minutes, or sooner where the numbers must be recent, or were taken back', async () => {
  const usual = createUsualReader(database.sql);
  const counted = () => usual.of('se', 6).counted;
  await usual.refresh(NOW);
  await stays('2026-11-19', 7, 0);
  await usual.refresh(NOW + 10 * 60_000 - 1);
  await usual.refresh(NOW + RECENT - 1, RECENT);
  expect(counted()).toBe(0);
  await usual.refresh(NOW + RECENT, RECENT);
  expect(counted()).toBe(7);
  await stays('2026-11-18', 3, 0);
  usual.forget();
  await usual.refresh(NOW + RECENT);
  expect(counted()).toBe(10);
});
