import { describe, expect, test } from 'vitest';
import {
  channelCeilings,
  channelRules,
  channelSetting,
  channelSubscriber,
  sitesWithoutChannel,
} from '../../src/config/channels.ts';
import { describeSettings } from '../../src/config/describe.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { publishedSchema } from '../../src/config/reference.ts';
import { tried } from '../../src/config/rehearsed.ts';
import { loadFile, problemsOf, temporaryFile } from './files.ts';

const URL_A = 'https://hooks.slack.example/services/sentinel-a';
const URL_B = 'https://hooks.slack.example/services/sentinel-b';
const URL_C = 'https://hooks.slack.example/services/sentinel-c';
const SITES = `sites:
  se: { baseUrl: https://se.example, clientId: a, clientSecret: b }
  fi: { baseUrl: https://fi.example, clientId: a, clientSecret: b }
`;
const FILE = `${SITES}
slack:
  maxPerHour: 12
  deadMansSwitch: \${SWITCH}
  channels:
    ops: { webhookUrl: \${OPS}, severity: critical, maxPerHour: 6 }
    shop-se: { webhookUrl: \${SHOP}, sites: [se] }
`;
const ENV = { SLACK_WEBHOOK_URL: URL_A, OPS: URL_B, SHOP: URL_C, SWITCH: 'https://alive.example/sentinel-d' };

const MODES = { stuck: 'auto', paidTwice: true };

test('the channel of the variable comes first, and those of the file have what they do not say from all', () => {
  const { slack, channels } = loadFile(FILE, ENV);
  expect(channels).toEqual([
    { kind: 'slack', name: 'default', webhookUrl: URL_A, sites: null, severity: 'warning', maxPerHour: 12, ...MODES },
    { kind: 'slack', name: 'ops', webhookUrl: URL_B, sites: null, severity: 'critical', maxPerHour: 6, ...MODES },
    { kind: 'slack', name: 'shop-se', webhookUrl: URL_C, sites: ['se'], severity: 'warning', maxPerHour: 12, ...MODES },
  ]);
  expect(slack.deadMansSwitch).toBe('https://alive.example/sentinel-d');
  expect(channels.map(channelSubscriber)).toEqual(['@slack', '@slack-ops', '@slack-shop-se']);
});

test('the channel may be called default in the file, and comes first all the same', () => {
  const settings = loadFile(`slack: { channels: { aaa: { webhookUrl: ${URL_B} }, default: { webhookUrl: ${URL_A} } } }`);
  expect(settings.channels.map(({ name }) => name)).toEqual(['default', 'aaa']);
  expect(channelSetting(settings, settings.channels[0]!)).toBe('slack.channels.default.webhookUrl');
  const ofVariable = loadSettings({ SLACK_WEBHOOK_URL: URL_A });
  expect(channelSetting(ofVariable, ofVariable.channels[0]!)).toBe('SLACK_WEBHOOK_URL');
});

test('without any of it there is no channel and no switch', () => {
  const { slack, channels } = loadSettings({});
  expect([channels, slack.deadMansSwitch, slack.maxPerHour]).toEqual([[], null, 20]);
});

test('the variable of the switch wins over the file, and both may come from files', () => {
  const switched = (env: NodeJS.ProcessEnv) => loadFile(FILE, { ...ENV, ...env }).slack.deadMansSwitch;
  expect(switched({ DEAD_MANS_SWITCH_URL: 'https://other.example/x' })).toBe('https://other.example/x');
  expect(switched({ DEAD_MANS_SWITCH_URL_FILE: temporaryFile('https://third.example/x\n') })).toBe('https://third.example/x');
  const { OPS, ...rest } = ENV;
  expect(loadFile(FILE, { ...rest, OPS_FILE: temporaryFile(OPS) }).channels[1]!.webhookUrl).toBe(URL_B);
});

describe('a problem', () => {
  const problems = (channels: string, env: NodeJS.ProcessEnv = {}): string[] =>
    problemsOf(() => loadFile(`${SITES}slack: { channels: ${channels} }`, env));

  test.each([
    ['a channel without an address', '{ ops: {} }', /^slack\.channels\.ops\.webhookUrl: is missing; expected an http/],
    [
      'an address that is none',
      `{ ops: { webhookUrl: sentinel } }`,
      /^slack\.channels\.ops\.webhookUrl: its value \(not shown\)/,
    ],
    [
      'a site that does not exist',
      `{ ops: { webhookUrl: ${URL_B}, sites: [se, fii] } }`,
      /^slack\.channels\.ops\.sites\[1\]: "fii" is not a site \(did you mean fi\?\); known: se, fi$/,
    ],
    ['no sites at all', `{ ops: { webhookUrl: ${URL_B}, sites: [] } }`, /^slack\.channels\.ops\.sites: is empty/],
    [
      'a severity that is none',
      `{ ops: { webhookUrl: ${URL_B}, severity: critcal } }`,
      /^slack\.channels\.ops\.severity: "critcal" is not one of warning, critical \(did you mean critical\?\)$/,
    ],
    [
      'too few messages',
      `{ ops: { webhookUrl: ${URL_B}, maxPerHour: 2 } }`,
      /^slack\.channels\.ops\.maxPerHour: 2 is not a whole number from 3/,
    ],
    [
      'a typo',
      `{ ops: { webhookUrl: ${URL_B}, site: [se] } }`,
      /^slack\.channels\.ops\.site: is not a setting \(did you mean sites\?\)/,
    ],
    ['a name that is none', `{ OPS: { webhookUrl: ${URL_B} } }`, /^slack\.channels\.OPS: "OPS" is not a name of up to/],
  ])('%s is one, without the address', (_what, channels, expected) => {
    const found = problems(channels);
    expect(found).toEqual([expect.stringMatching(expected)]);
    expect(found.join()).not.toContain('sentinel');
  });

  test('two channels with one address, and two of one name, are', () => {
    const twice = problems(`{ ops: { webhookUrl: ${URL_A} } }`, { SLACK_WEBHOOK_URL: URL_A });
    expect(twice).toEqual([
      expect.stringMatching(/^slack\.channels\.ops\.webhookUrl: is the address \(not shown\) of channel default/),
    ]);
    const named = problems(`{ default: { webhookUrl: ${URL_B} } }`, { SLACK_WEBHOOK_URL: URL_A });
    expect(named).toEqual([
      expect.stringMatching(/^slack\.channels\.default: SLACK_WEBHOOK_URL makes a channel of the same name/),
    ]);
    expect([...twice, ...named].join()).not.toContain('sentinel');
  });

  test('a variable that is nearly the one of the switch is', () => {
    expect(problemsOf(() => loadSettings({ DEAD_MAN_SWITCH_URL: 'x' }))).toEqual([
      expect.stringMatching(/^DEAD_MAN_SWITCH_URL: is not a variable .*did you mean DEAD_MANS_SWITCH_URL/),
    ]);
  });
});

test('sites that no channel hears of are found', () => {
  const of = (text: string) => sitesWithoutChannel(loadFile(text, ENV));
  expect(of(FILE)).toEqual({ silentSites: [], criticalOnly: [] });
  expect(of(SITES)).toEqual({ silentSites: [], criticalOnly: [] });
  const channels = (some: string) => sitesWithoutChannel(loadFile(`${SITES}slack: { channels: { ${some} } }`));
  expect(channels(`a: { webhookUrl: ${URL_A}, sites: [se] }`)).toEqual({ silentSites: ['fi'], criticalOnly: [] });
});

test('and so are those of which only critical incidents are heard', () => {
  const channels = (some: string) => sitesWithoutChannel(loadFile(`${SITES}slack: { channels: { ${some} } }`));
  const critical = `a: { webhookUrl: ${URL_A}, severity: critical }`;
  expect(channels(critical)).toEqual({ silentSites: [], criticalOnly: ['se', 'fi'] });
  expect(channels(`${critical}, b: { webhookUrl: ${URL_B}, sites: [se] }`)).toEqual({ silentSites: [], criticalOnly: ['fi'] });
  expect(channels(`b: { webhookUrl: ${URL_B}, sites: [fi], severity: critical }`)).toEqual({
    silentSites: ['se'],
    criticalOnly: ['fi'],
  });
  expect(channels(`${critical}, b: { webhookUrl: ${URL_B} }`)).toEqual({ silentSites: [], criticalOnly: [] });
});

test('how many messages each channel may get is known by its subscriber', () => {
  expect([...channelCeilings(loadFile(FILE, ENV))]).toEqual([
    ['@slack', 12],
    ['@slack-ops', 6],
    ['@slack-shop-se', 12],
  ]);
});

test('people see each channel and where it came from, and no address', () => {
  const settings = loadFile(FILE, { ...ENV, DEAD_MANS_SWITCH_URL: 'https://other.example/sentinel-e' });
  const rows = describeSettings(settings).filter(({ name }) => name.startsWith('slack.'));
  const row = (name: string) => rows.find((each) => each.name === name);
  expect(row('slack.channels.default.webhookUrl')).toMatchObject({ value: 'set', origin: 'environment (SLACK_WEBHOOK_URL)' });
  expect(row('slack.channels.ops.webhookUrl')).toMatchObject({ value: 'set', origin: expect.stringMatching(/\$\{OPS\}$/) });
  expect(row('slack.channels.ops.severity')).toMatchObject({ value: 'critical' });
  expect(row('slack.channels.ops.sites')).toMatchObject({ value: null, text: 'all', origin: 'default' });
  expect(row('slack.deadMansSwitch')).toMatchObject({ value: 'set', origin: 'environment (DEAD_MANS_SWITCH_URL)' });
  expect(JSON.stringify(rows)).not.toContain('sentinel');
});

test('editors know channels', () => {
  const schema = JSON.stringify(publishedSchema());
  expect(schema).toContain('"enum":["warning","critical"]');
  expect(schema).toContain('deadMansSwitch');
});

test('orders paid twice alert a channel unless the section or the channel says otherwise', () => {
  const own = `slack: { paidTwice: false, channels: { a: { webhookUrl: ${URL_A} }, b: { webhookUrl: ${URL_B}, paidTwice: true } } }`;
  const settings = loadFile(own, { SLACK_WEBHOOK_URL: URL_C });
  expect(channelRules(settings).map(({ name, paidTwice }) => [name, paidTwice])).toEqual([
    ['@slack', false],
    ['@slack-a', false],
    ['@slack-b', true],
  ]);
  const other = tried(settings, { slack: { paidTwice: true } });
  expect(other.channels.map(({ paidTwice }) => paidTwice)).toEqual([true, true, true]);
  expect(tried(settings, {}).channels.map(({ paidTwice }) => paidTwice)).toEqual([false, false, true]);
});

test('a channel of e-mail has a server, a sender and recipients; two may share a server', () => {
  const mail = (to: string, more = ''): string =>
    `${SITES}email: { channels: { office: { smtpUrl: "${'$'}{MAIL}", from: watch@example.com, to: [a@example.com] }, lead: { smtpUrl: "${'$'}{MAIL}", from: watch@example.com, to: ${to}${more} } } }\n`;
  const MAIL = 'smtps://shop%40example.com:a-secret-password@smtp.example.com';
  const settings = loadFile(mail('[b@example.com]'), { MAIL });
  expect(settings.channels).toEqual([
    expect.objectContaining({
      kind: 'email',
      name: 'office',
      webhookUrl: MAIL,
      from: 'watch@example.com',
      to: ['a@example.com'],
    }),
    expect.objectContaining({ kind: 'email', name: 'lead', to: ['b@example.com'] }),
  ]);
  expect(JSON.stringify(describeSettings(settings))).not.toContain('a-secret-password');
  expect(problemsOf(() => loadFile(mail('[a@example.com]'), { MAIL }))).toEqual([
    expect.stringMatching(/^email\.channels\.lead\.smtpUrl: is the address \(not shown\) of channel office, too/),
  ]);
  for (const [to, url] of [
    ['["not one"]', MAIL],
    ['[]', MAIL],
    ['[b@example.com]', 'smtp.example.com'],
    ['[b@example.com]', 'smtps://user@host'],
  ])
    expect(
      problemsOf(() => loadFile(mail(to!), { MAIL: url! })),
      `${to} ${url}`,
    ).not.toEqual([]);
});

test('channels of Teams stand beside those of Slack, and have what they do not say from the section of Slack', () => {
  const teams = `${SITES}slack: { maxPerHour: 12, stuck: each }\nteams: { channels: { ops: { webhookUrl: "${URL_B}", sites: [se] } } }\n`;
  const settings = loadFile(teams, { SLACK_WEBHOOK_URL: URL_A });
  expect(settings.channels.map(channelSubscriber)).toEqual(['@slack', '@teams-ops']);
  expect(settings.channels[1]).toMatchObject({
    kind: 'teams',
    sites: ['se'],
    severity: 'warning',
    maxPerHour: 12,
    stuck: 'each',
  });
  expect(channelSetting(settings, settings.channels[1]!)).toBe('teams.channels.ops.webhookUrl');
  const rows = describeSettings(settings);
  expect(rows.find(({ name }) => name === 'teams.channels.ops.webhookUrl')).toMatchObject({ value: 'set' });
  expect(JSON.stringify(rows)).not.toContain('sentinel');
  expect(problemsOf(() => loadFile(teams.replace('[se]', '[no]'), { SLACK_WEBHOOK_URL: URL_B }))).toEqual([
    expect.stringMatching(/^teams\.channels\.ops\.webhookUrl: is the address \(not shown\) of channel default, too/),
    expect.stringMatching(/^teams\.channels\.ops\.sites\[0\]: "no" is not a site/),
  ]);
});
