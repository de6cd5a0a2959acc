import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashOfKey } from '../../../src/config/api-keys.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { isoTime } from '../../../src/domain/values/time.ts';
import { onDatabase } from '../../cli/command.ts';
import { brokenPage } from '../../support/broken-page.ts';
import { PLANS, startTestApi, type TestApi } from '../api.ts';

const OPERATOR = 'operator-key-0123456789abcdef0123456789';
const READER = 'reader-key-0123456789abcdef0123456789abc';
const METRICS = 'metrics-key-0123456789abcdef0123456789ab';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T = Math.floor(Date.now() / HOUR) * HOUR - 24 * HOUR;
const SPAN = { from: isoTime(T), to: isoTime(T + 4 * HOUR) };
/** The daemon's own: another limit than the default, and a channel with a mode of its own. */
const OWN = [
  'states: { WaitingForCardPayments: { stuckAfter: 14m }, SessionTimedOut: { final: true } }',
  'slack: { quietFor: 12m, channels: { ops: { webhookUrl: "https://hooks.slack.com/services/a/b/c", stuck: incidents } } }',
];

let folder: string;
let api: TestApi;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  const { policy, slack, channels, origins } = loadSettings({ PURCHASE_WATCH_CONFIG: file(OWN) });
  api = await startTestApi({
    sites: ['se', 'no'],
    apiKey: OPERATOR,
    apiReadKey: READER,
    apiKeys: [{ name: 'metrics', scopes: ['metrics'], hash: hashOfKey(METRICS), expires: null }],
    settings: { ...PLANS, policy, slack, channels, origins },
  });
  await brokenPage(api.sql, T);
});
afterAll(async () => {
  await api?.stop();
  rmSync(folder, { recursive: true });
});

function file(lines: readonly string[]): string {
  const path = join(folder, `${lines.join('').length}.yaml`);
  writeFileSync(path, lines.join('\n'));
  return path;
}

const call = (json: unknown, key = READER) =>
  api.call('POST', '/v1/rehearsals', { json, headers: { authorization: `Bearer ${key}` } });

/** Rows that an alert, or a recorded change, would add. */
async function counts() {
  return api.sql`
    select (select count(*) from purchase_watch_internal.events) as events, (select count(*) from purchase_watch_internal.incidents) as incidents,
      (select count(*) from purchase_watch_internal.actions) as actions, (select count(*) from purchase_watch_internal.dwell_days) as days`;
}

test('without settings to try, those of the daemon are rehearsed, and nothing is written', async () => {
  const before = await counts();
  const { status, body } = await call(SPAN);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...SPAN,
    site: null,
    changed: [],
    present: null,
    compared: null,
    channelInvented: false,
    stays: 120,
  });
  expect(body.settings).toMatchObject({ states: { WaitingForCardPayments: { stuckAfter: '14m' } }, slack: { quietFor: '12m' } });
  expect(body.rehearsed).toMatchObject({
    incidents: 1,
    overdue: 15,
    timeline: [{ kind: 'stuck', site: 'se', state: { value: 6 } }],
  });
  expect(body.summary).toMatch(
    /^With the present settings there would have been \d+ alerts? in these 4 h, and 1 incident would have opened\.$/,
  );
  expect(body.limits[0].text).toContain('limit 14 min as configured');
  expect(await counts()).toEqual(before);
});

test('settings to try stand beside those of the daemon, and the command says the same of the same settings', async () => {
  const wish = { states: { WaitingForCardPayments: { stuckAfter: '5m' } }, slack: { groupWait: '1m' } };
  const { status, body } = await call({ ...SPAN, settings: wish });
  expect(status).toBe(200);
  expect(body.changed).toEqual([
    { setting: 'states.WaitingForCardPayments.stuckAfter', present: '14m', tried: '5m' },
    { setting: 'slack.groupWait', present: '30s', tried: '1m' },
  ]);
  expect(body.compared).toEqual({ both: 1, onlyTried: 0, onlyPresent: 0, earlierMs: 8.5 * MINUTE });
  expect(body.summary).toMatch(
    /^With the 2 changed settings there would have been \d+ alerts instead of \d+ in these 4 h, the incident that both find 8 min 30 s earlier\.$/,
  );
  expect(body.present).toEqual((await call(SPAN)).body.rehearsed);
  const changed = OWN.map((line) => line.replace('14m', '5m').replace('quietFor', 'groupWait: 1m, quietFor'));
  const config = file(changed);
  const { exitCode, stdout } = await onDatabase({ url: api.databaseUrl }, [
    'rehearse',
    '--from',
    SPAN.from,
    '--to',
    SPAN.to,
    '--config',
    config,
    '--json',
  ]);
  expect(exitCode).toBe(0);
  const printed = JSON.parse(stdout);
  expect(printed.rehearsed).toEqual(body.rehearsed);
  expect(printed).toMatchObject({ config, settings: body.settings, really: body.really, limits: body.limits });
});

test('the mode of single checkouts changes where a channel has none of its own', async () => {
  const each = { settings: { slack: { stuck: 'each' } }, ...SPAN };
  expect((await call(each)).body.rehearsed.stages.checkouts).toBe(0);
});

test('whether orders paid twice alert people is a setting to try', async () => {
  const { body } = await call({ settings: { slack: { paidTwice: false } }, ...SPAN });
  expect(body.changed).toEqual([{ setting: 'slack.paidTwice', present: 'true', tried: 'false' }]);
  expect([body.rehearsed.stages.paid_twice, body.reusing]).toEqual([0, []]);
});

test('how long before its end a session is announced is a setting to try, as the command says of the same setting', async () => {
  const { body } = await call({ settings: { polling: { atRisk: { before: '20m' } } }, ...SPAN });
  expect(body.changed).toEqual([{ setting: 'polling.atRisk.before', present: 'never', tried: '20m' }]);
  expect([body.present.atRisk, body.rehearsed.atRisk.announced]).toEqual([null, 15]);
  const config = file([...OWN, 'polling: { atRisk: { before: 20m } }']);
  const command = ['rehearse', '--from', SPAN.from, '--to', SPAN.to, '--config', config, '--json'];
  const printed = JSON.parse((await onDatabase({ url: api.databaseUrl }, command)).stdout);
  expect([printed.rehearsed, printed.settings]).toEqual([body.rehearsed, body.settings]);
  const off = await call({ settings: { polling: { atRisk: { before: 'never' } } }, ...SPAN });
  expect([off.body.changed, off.body.rehearsed.atRisk]).toEqual([[], null]);
});

test('one site alone, and silences that are ignored', async () => {
  expect((await call({ ...SPAN, site: 'no' })).body).toMatchObject({ site: 'no', stays: 0, rehearsed: { messages: 0 } });
  await api.sql`
    insert into purchase_watch_internal.silences (created_at, starts_at, ends_at, site, reason, created_by)
    values (to_timestamp(${T} / 1000.0), to_timestamp(${T} / 1000.0), to_timestamp(${T + 4 * HOUR} / 1000.0), 'se', 'deploy', 'Kim')`;
  expect((await call(SPAN)).body.rehearsed).toMatchObject({
    messages: 0,
    incidents: 1,
    unsaid: 1,
    timeline: [{ alertedAt: null }],
  });
  expect((await call({ ...SPAN, ignoreSilences: true })).body.rehearsed).toMatchObject({ unsaid: 0 });
  await api.sql`delete from purchase_watch_internal.silences`;
});

test('the settings that can be tried are read by themselves', async () => {
  const { status, body } = await api.call('GET', '/v1/rehearsals/settings', { headers: { authorization: `Bearer ${READER}` } });
  expect(status).toBe(200);
  expect(body.states.WaitingForCardPayments).toEqual({ stuckAfter: '14m' });
  expect(Object.keys(body.states)).not.toContain('Completed');
  expect(body.slack).toEqual({
    stuck: 'auto',
    paidTwice: true,
    groupWait: '30s',
    quietFor: '12m',
    groupInterval: '5m',
    repeatInterval: '4h',
  });
  expect(body.polling).toEqual({ atRisk: { before: 'never' } });
});

test.each<[string, object, string, RegExp]>([
  ['no beginning', {}, 'from', /is missing/],
  ['a beginning that is no time', { from: 'yesterday' }, 'from', /must be a time with its zone/],
  ['a beginning to come', { from: '2096-01-01T00:00:00Z' }, 'from', /is in the future/],
  ['an end that is no time', { from: '2h', to: 'soon' }, 'to', /must be a time with its zone/],
  ['an end to come', { from: '2h', to: '2096-01-01T00:00:00Z' }, 'to', /is still to come/],
  ['a time that runs backwards', { from: '1h', to: '2h' }, 'from', /must be before the end of the time/],
  ['a long time', { from: '40d' }, 'from', /is more than 31d before the end of the time.*purchase-watch rehearse/],
  ['a mistyped site', { from: '1h', site: 'see' }, 'site', /did you mean se\?/],
  ['a flag in words', { from: '1h', ignoreSilences: 'yes' }, 'ignoreSilences', /must be true or false/],
  [
    'a setting that is none',
    { from: '1h', settings: { slack: { quiteFor: '5m' } } },
    'settings.slack.quiteFor',
    /did you mean quietFor\?/,
  ],
  ['a section that is none', { from: '1h', settings: { sites: {} } }, 'settings.sites', /is not known here/],
  [
    'a state that is none',
    { from: '1h', settings: { states: { WaitingForCard: {} } } },
    'settings.states.WaitingForCard',
    /is not known here/,
  ],
  [
    'a limit that is none',
    { from: '1h', settings: { states: { New: { stuckAfter: '5' } } } },
    'settings.states.New.stuckAfter',
    /must be a duration.*auto or never/,
  ],
  [
    'a limit of a final state',
    { from: '1h', settings: { states: { Completed: { stuckAfter: '5m' } } } },
    'settings.states.Completed.stuckAfter',
    /has no meaning in a final state/,
  ],
  [
    'a duration that is none',
    { from: '1h', settings: { slack: { quietFor: 'long' } } },
    'settings.slack.quietFor',
    /must be a duration/,
  ],
  [
    'a mode that is none',
    { from: '1h', settings: { slack: { stuck: 'all' } } },
    'settings.slack.stuck',
    /there are auto, each, incidents/,
  ],
  [
    'an announcement before the session begins',
    { from: '1h', settings: { polling: { atRisk: { before: '30m' } } } },
    'settings.polling.atRisk.before',
    /must be shorter than a session \(polling.sessionLength: 30m\)/,
  ],
  [
    'an announcement that is learned',
    { from: '1h', settings: { polling: { atRisk: { before: 'auto' } } } },
    'settings.polling.atRisk.before',
    /must be a duration.*, or never$/,
  ],
  ['a list in place of settings', { from: '1h', settings: [] }, 'settings', /must be an object/],
])('%s is refused', async (_, json, field, detail) => {
  const { status, body } = await call(json);
  expect(status).toBe(400);
  expect(body.errors).toEqual([expect.objectContaining({ field, detail: expect.stringMatching(detail) })]);
});

test('all that is wrong with the time and the states is said at once', async () => {
  const { body } = await call({ from: 'a', to: 'b', settings: { states: { Completed: { stuckAfter: '5m' } } } });
  expect(body.errors.map(({ field }: { field: string }) => field)).toEqual([
    'from',
    'to',
    'settings.states.Completed.stuckAfter',
  ]);
});

test('a key that may not read is refused', async () => {
  expect(await call(SPAN, METRICS)).toMatchObject({ status: 403, body: { code: 'missing_scope' } });
});

test('one is made at a time, others wait for a moment, and more are refused', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => call(SPAN)));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { body, headers } of refused) {
    expect(body).toMatchObject({ status: 503, code: 'busy', detail: expect.stringContaining('Other rehearsals are under way') });
    expect(headers.get('retry-after')).not.toBeNull();
  }
});
