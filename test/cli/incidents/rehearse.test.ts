import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isoTime } from '../../../src/domain/values/time.ts';
import { announcing, SITE_SHARD } from '../../../src/postgres/events/events.ts';
import { syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { brokenPage } from '../../support/broken-page.ts';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf, onDatabase } from '../command.ts';
import { runCommand } from '../run.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** A day before now, on the hour: the rehearsal's times are on a grid of five seconds. */
const T = Math.floor(Date.now() / HOUR) * HOUR - 24 * HOUR;
const BROKEN = T + 2 * HOUR;

let database: TestDatabase;
let folder: string;
let files = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  database = await databaseOf('se', 'no');
  await brokenPage(database.sql, T);
  await reallySaid();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

async function reallySaid(): Promise<void> {
  const { sql } = database;
  const all = { format: 'standard' as const, types: null, sites: null, states: null };
  await syncSubscribers(sql, [{ name: '@slack', kind: 'slack', audience: 'people', ...all, addressHash: 'a' }]);
  const at = BROKEN + 23 * MINUTE;
  const incident = { incidentId: 'inc_1', openedAt: isoTime(at), endedAt: null, since: isoTime(BROKEN), severity: 'warning' };
  const stuck = {
    ...incident,
    kind: 'stuck',
    site: 'se',
    state: { value: 6, name: 'WaitingForCardPayments' },
    count: 4,
    peak: 4,
  };
  const about = [stuck, { ...incident, kind: 'subscriber', subscriber: 'shop', trouble: 'off' }];
  const events = about.map((data) => ({
    draft: { type: 'incident.opened' as const, sequence: null, at, state: null, data },
    ...{ site: 'se', purchase: null, shard: SITE_SHARD },
  }));
  await sql`with ${announcing(sql, events, sql`true`)} select count(*) from notified`;
}

const SPAN = ['--from', isoTime(T), '--to', isoTime(T + 4 * HOUR)];
const rehearse = (...argv: string[]) => onDatabase(database, ['rehearse', ...SPAN, ...argv]);
function settings(text: string): string {
  files += 1;
  const path = join(folder, `${files}.yaml`);
  writeFileSync(path, text);
  return path;
}

test('what would have been said stands beside what was', async () => {
  const { exitCode, stdout, stderr } = await rehearse();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const time = (at: number) => isoTime(at).slice(0, 19).replace('T', ' ');
  expect(stdout).toMatch(new RegExp(`^${time(T)} to ${time(T + 4 * HOUR)} UTC, under the default settings$`, 'm'));
  expect(stdout).toContain('No channel for people is configured');
  expect(stdout).toMatch(new RegExp(`^${time(BROKEN + 21 * MINUTE + 30 * SECOND)} +@slack +opened +.*se: .*card provider`, 'm'));
  expect(stdout).toMatch(/^Was really sent:\nat .*\n\S+ \S+ +@slack +opened +.*se: .*4 customers.*\n$/m);
  expect(stdout).toMatch(
    /^With the present settings there would have been \d alerts in these 4 h, and 1 incident would have opened\.$/m,
  );
  expect(stdout).toMatch(/^messages +\d +1$/m);
  expect(stdout).toMatch(/^purchases found stuck +15 +0$/m);
  expect(stdout).toMatch(/^1 incident; open at the beginning 0, at the end 0$/m);
});

test('single stuck checkouts are rehearsed under the mode of the channel', async () => {
  const path = settings(
    'slack: { stuck: each, channels: { ops: { webhookUrl: "https://hooks.slack.com/services/a/b/c", sites: [se] } } }',
  );
  const { rehearsed } = JSON.parse((await rehearse('--config', path, '--json')).stdout);
  expect(rehearsed.stages.checkouts).toBeGreaterThan(2);
  expect(rehearsed.said[0]).toMatchObject({ stage: 'checkouts', kind: 'checkouts', channels: ['@slack-ops'], incidentId: null });
  expect(rehearsed.said[0].headline).toMatch(/^🟠 se: 1 checkout stuck waiting for the card provider for 15 min/);
  expect(rehearsed.said.some(({ headline }: { headline: string }) => headline.includes('left (timed out)'))).toBe(true);
});

test('settings to try are taken from a file, and what they say from its states and channels', async () => {
  const path = settings(
    [
      'states: { WaitingForCardPayments: { stuckAfter: 5m } }',
      'slack: { stuck: incidents, groupWait: 1m, channels: { ops: { webhookUrl: "https://hooks.slack.com/services/a/b/c", sites: [se] } } }',
    ].join('\n'),
  );
  const { exitCode, stdout } = await rehearse('--config', path, '--json');
  expect(exitCode).toBe(0);
  const body = JSON.parse(stdout);
  expect(body).toMatchObject({ from: isoTime(T), config: path, channelInvented: false, taughtSince: null, stays: 120 });
  expect(body.rehearsed).toMatchObject({ incidents: 1, overdue: 15 });
  expect(body.rehearsed.said[0]).toMatchObject({
    at: isoTime(BROKEN + 12 * MINUTE),
    stage: 'opened',
    channels: ['@slack-ops'],
    kind: 'stuck',
  });
  expect(body.rehearsed.said.at(-1)).toMatchObject({ stage: 'ended' });
  expect(body.really).toMatchObject({ messages: 1, overdue: 0 });
  expect(body.limits).toEqual([
    {
      site: 'se',
      state: { value: 6, name: 'WaitingForCardPayments' },
      text: expect.stringContaining('limit 5 min as configured'),
    },
  ]);
  expect(stdout).not.toContain('hooks.slack.com');
  expect((await rehearse('--config', path, '--json')).stdout).toBe(stdout);
});

test('what a file changes stands beside what the present settings would have sent', async () => {
  const { stdout } = await rehearse('--config', settings('states: { WaitingForCardPayments: { stuckAfter: 5m } }'));
  expect(stdout).toMatch(/^states\.WaitingForCardPayments\.stuckAfter: 5m, at present 15m$/m);
  expect(stdout).toMatch(
    /^With the changed setting there would have been \d+ alerts instead of \d+ in these 4 h, the incident that both find 10 min earlier\.$/m,
  );
  expect(stdout).toMatch(/under these settings +under the present ones +really$/m);
  expect(stdout).toMatch(/^purchases found stuck +15 +15 +0$/m);
});

test('purchases that would have been announced as at risk are counted, where the file asks for it', async () => {
  const before = 'polling: { sessionLength: 22m, atRisk: { before: 5m } }';
  expect((await rehearse('--config', settings(before))).stdout).toMatch(
    /^purchase\.at_risk for 15 purchases: 0 of them ended not paid, 0 paid, of 15 it is not known, or another purchase of the order was paid$/m,
  );
  const ofOther = settings('polling: { sessionLength: 22m, atRisk: { minimumAmount: { SEK: 1 } } }');
  const { rehearsed, present } = JSON.parse((await rehearse('--config', ofOther, '--json')).stdout);
  expect([rehearsed.atRisk, present.atRisk]).toEqual([{ announced: 0, lost: 0, paid: 0 }, null]);
  expect((await rehearse()).stdout).not.toContain('purchase.at_risk');
});

test('limits that nobody reaches, and states without any, say nothing', async () => {
  const patient = settings('states: { WaitingForCardPayments: { stuckAfter: 1h } }');
  expect((await rehearse('--config', patient)).stdout).toMatch(/^Would have been sent: nothing$/m);
  const never = settings(
    'states: { WaitingForCardPayments: { stuckAfter: never }, WaitingForIdentityProvider: { stuckAfter: never } }',
  );
  const { exitCode, stdout } = await rehearse('--config', never, '--json');
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ rehearsed: { messages: 0, overdue: 0 }, present: { overdue: 15 } });
});

test('what no channel was told was not said, while there are channels', async () => {
  const { sql } = database;
  const kept = await sql<{ event: string; subscriber: number; shard: number }[]>`
    delete from purchase_watch_internal.deliveries where event in (select position from purchase_watch_internal.events where type = 'incident.opened' and body like '%"stuck"%')
    returning event, subscriber, shard`;
  expect(kept).toHaveLength(1);
  const path = settings('slack: { channels: { ops: { webhookUrl: "https://hooks.slack.com/services/a/b/c" } } }');
  expect(JSON.parse((await rehearse('--config', path, '--json')).stdout).really).toMatchObject({
    messages: 0,
    perDay: null,
    said: [],
  });
  expect((await rehearse()).stdout).toMatch(/^Was really sent:\nat .*\n\S+ \S+ +none +opened /m);
  await sql`
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at) select ${kept[0]!.event}, 0, ${kept[0]!.subscriber}, ${kept[0]!.shard}, now()`;
});

test('one site alone', async () => {
  const body = JSON.parse((await rehearse('--site', 'no', '--json')).stdout);
  expect(body).toMatchObject({ site: 'no', stays: 0, really: { messages: 0 } });
});

test('silences hold unless they are to be ignored', async () => {
  await database.sql`
    insert into purchase_watch_internal.silences (created_at, starts_at, ends_at, site, reason, created_by)
    values (to_timestamp(${BROKEN - HOUR} / 1000.0), to_timestamp(${BROKEN} / 1000.0), to_timestamp(${BROKEN + 2 * HOUR} / 1000.0), 'se', 'deploy', 'Kim')`;
  expect((await rehearse()).stdout).toContain('1 incident, 1 of them without an alert;');
  expect((await rehearse('--ignore-silences')).stdout).toContain('1 incident;');
  await database.sql`delete from purchase_watch_internal.silences`;
});

test('a terminal shows how far it is, and clears it', async () => {
  const { stderr } = await runCommand(['rehearse', ...SPAN], { DATABASE_URL: database.url, NO_COLOR: '1' }, { isTTY: true });
  expect(stderr).toMatch(/^\r\u001b\[K\d+ %, 120 stays …\r\u001b\[K$/);
});

test.each<[string, readonly string[], RegExp]>([
  ['no beginning', [], /required option '--from/],
  ['a beginning that is no time', ['--from', 'yesterday'], /--from "yesterday": must be a time with its zone/],
  [
    'an end that is no time',
    ['--from', '2h', '--to', '2026-02-30T00:00:00Z'],
    /--to "2026-02-30T00:00:00Z": must be a time with its zone/,
  ],
  ['a time that runs backwards', ['--from', '1h', '--to', '2h'], /--from "1h": must be before the end of the time, which is 2h/],
  [
    'a beginning to come',
    ['--from', '2096-01-01T00:00:00Z'],
    /--from "2096-01-01T00:00:00Z": is in the future; give a time that was/,
  ],
  ['a time to come', ['--from', '1h', '--to', '2096-01-01T00:00:00Z'], /--to "2096-01-01T00:00:00Z": is still to come/],
  ['a mistyped site', ['--from', '1h', '--site', 'see'], /--site: "see" is not a site \(did you mean se\?\)/],
  ['a file that is not there', ['--from', '1h', '--config', '/nowhere.yaml'], /--config: there is no such file: \/nowhere\.yaml/],
])('%s is refused', async (_, argv, message) => {
  const { exitCode, stdout, stderr } = await onDatabase(database, ['rehearse', ...argv]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(message);
});

test('all that is wrong in a file is told at once', async () => {
  const path = settings(
    [
      'states: { WaitingForCardPayment: { stuckAfter: 5m }, Completed: { stuckAfter: 5m } }',
      'slack: { repeatIntervall: 4h, channels: { ops: { webhookUrl: "https://hooks.slack.com/services/a/b/c", sites: [sse] } } }',
    ].join('\n'),
  );
  const { exitCode, stderr } = await rehearse('--config', path);
  expect(exitCode).toBe(2);
  for (const part of [/WaitingForCardPayment\b.*WaitingForCardPayments/, /repeatIntervall/]) expect(stderr).toMatch(part);
  const names = settings('slack: { channels: { ops: { webhookUrl: "https://hooks.slack.com/services/a/b/c", sites: [sse] } } }');
  expect((await rehearse('--config', names)).stderr).toMatch(
    /slack\.channels\.ops\.sites\[0\]: "sse" is not a site \(did you mean se\?\)/,
  );
});
