/** What people hear of incidents in a silence, and of those that somebody looks after. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acknowledgeIncident, releaseIncident } from '../../src/postgres/incidents/care.ts';
import { addSilence, endSilence } from '../../src/postgres/incidents/silences.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const HOUR = 3_600_000;

let t: TestApp;
beforeEach(async () => {
  t = await startTestApp();
  // A site without anything to ask is no incident.
  await t.database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
});
afterEach(() => t.stop());

const look = async (by: string): Promise<void> => {
  t.clock.advance(by);
  await t.app.judgeOnce();
  await t.app.deliverOnce();
};
const silence = (differs: object = {}) =>
  addSilence(t.database.sql, {
    ...{ kind: null, site: 'default', state: null, subscriber: null, reason: 'r', by: 'k' },
    ...{ startsAt: t.clock.now() - HOUR, endsAt: t.clock.now() + 2 * HOUR },
    ...differs,
  });
/** By the clock in the test's hand, of which the database's may be a little behind or, on a slow machine, ahead. */
const now = () => t.database.sql`to_timestamp(${t.clock.now()}::float8 / 1000)`;
const fails = () => t.database.sql`update purchase_watch_internal.sites set failing_since = ${now()}, last_error = 'It is down.'`;
const answers = () => t.database.sql`update purchase_watch_internal.sites set failing_since = null, last_success_at = ${now()}`;
const incident = async (): Promise<string> => {
  const [row] = await t.database.sql<
    { id: string }[]
  >`select id from purchase_watch_internal.incidents order by position desc limit 1`;
  return row!.id;
};
const messages = (): string[] => t.slack.received.map(({ text }) => text);
const webhooks = (): string[] => t.receiver.received.map(({ type }) => type);

test('of an incident in a silence is nothing until the silence ends, and then that it is there', async () => {
  await silence({ kind: 'unreachable' });
  await fails();
  await look('1s');
  await look('1h');
  expect(messages()).toEqual([]);
  await look('1h');
  expect(messages()).toEqual([expect.stringContaining('no usable answer')]);
  await look('1m');
  expect(messages()).toHaveLength(1);
});

test('is said at once when a silence is ended by hand', async () => {
  const { id } = await silence();
  await fails();
  await look('1s');
  await look('5m');
  expect(messages()).toEqual([]);
  await endSilence(t.database.sql, id);
  await look('1s');
  expect(messages()).toHaveLength(1);
});

test('of an incident that came and went in a silence is nothing', async () => {
  await silence();
  await fails();
  await look('1s');
  await look('1m');
  await answers();
  await look('1s');
  await look('31s');
  await look('3h');
  expect(messages()).toEqual([]);
  const [row] = await t.database.sql`select ended_at is not null as ended, alerted_at from purchase_watch_internal.incidents`;
  expect(row).toEqual({ ended: true, alertedAt: null });
});

test('of an incident that people knew of before the silence is its end', async () => {
  await fails();
  await look('1s');
  await look('31s');
  expect(messages()).toHaveLength(1);
  await silence({ endsAt: t.clock.now() + 9 * HOUR });
  await look('5h');
  expect(messages()).toHaveLength(1);
  await answers();
  await look('1s');
  await look('31s');
  expect(messages()).toEqual([expect.stringContaining('no usable answer'), expect.stringContaining('answers again')]);
});

test('of what does not match is what would have been said anyway, and of what a window brings later nothing before it', async () => {
  await silence({ state: 4 });
  await silence({ kind: 'stuck' });
  await silence({ startsAt: t.clock.now() + HOUR });
  await fails();
  await look('1s');
  await look('31s');
  expect(messages()).toHaveLength(1);
});

test('webhooks hear of a site in a silence as ever, once each, and people do not', async () => {
  await silence({ kind: 'unreachable' });
  await fails();
  await look('1s');
  for (const by of ['31s', '1m', '1m']) await look(by);
  await answers();
  await look('1s');
  await look('31s');
  expect(webhooks()).toEqual(['site.unreachable', 'site.reachable']);
  expect(messages()).toEqual([]);
});

test('when a silence ends, webhooks are not told a second time', async () => {
  await silence();
  await fails();
  await look('1s');
  await look('31s');
  await look('3h');
  expect(webhooks()).toEqual(['site.unreachable']);
  expect(messages()).toEqual([expect.stringContaining('no usable answer')]);
});

test('whoever looks after an incident ends the reminders, until that is given up, and the end is told all the same', async () => {
  await fails();
  await look('1s');
  await look('31s');
  await look('5h');
  expect(messages()).toHaveLength(2);
  const { sql } = t.database;
  await acknowledgeIncident(sql, { id: await incident(), by: 'Kim', note: null });
  await look('25h');
  await look('25h');
  expect(messages()).toHaveLength(2);
  await releaseIncident(sql, await incident());
  await look('1s');
  expect(messages()).toHaveLength(3);
  await acknowledgeIncident(sql, { id: await incident(), by: 'Kim', note: null });
  await answers();
  await look('1s');
  await look('31s');
  expect(messages().at(-1)).toContain('answers again');
  expect(await sql`select acknowledged_by from purchase_watch_internal.incidents where ended_at is not null`).toMatchObject([
    { acknowledgedBy: 'Kim' },
  ]);
});
