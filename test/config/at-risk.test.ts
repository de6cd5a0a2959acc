import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeSettings } from '../../src/config/describe.ts';
import { loadAlertSettings } from '../../src/config/rehearsed.ts';
import { policyOfSite } from '../../src/domain/polling/poll-plan.ts';
import { loadFile, problemsOf, temporaryFile } from './files.ts';

const site = (own = '') => `{ baseUrl: https://checkout.example, clientId: me, clientSecret: hush${own} }`;
const FILE = `
sites: { se: ${site(', atRisk: { minimumAmount: { SEK: 500.5 } }')}, fi: ${site()} }
polling: { atRisk: { before: 8m, minimumAmount: { SEK: 1000, EUR: 100 } } }
`;
const problems = (content: string) => problemsOf(() => loadFile(content));

test('it is off by default', () => {
  const settings = loadFile('polling: { sessionLength: 45m }');
  expect(settings.policy.atRisk).toBeNull();
  expect(describeSettings(settings).filter(({ name }) => name.includes('atRisk'))).toEqual([]);
});

test('a site has its own rule or that of all sites', () => {
  const { policy } = loadFile(FILE);
  expect(policyOfSite(policy, 'se').atRisk).toEqual({ before: 300_000, minimumAmount: { SEK: 500.5 } });
  expect(policyOfSite(policy, 'fi').atRisk).toEqual({ before: 480_000, minimumAmount: { SEK: 1_000, EUR: 100 } });
  expect(policyOfSite(policy, 'se').states).toEqual(policy.states);
  expect(loadFile('polling: { atRisk: {} }').policy.atRisk).toEqual({ before: 300_000, minimumAmount: {} });
});

test('the rules are shown among the settings, with where they came from', () => {
  const shown = describeSettings(loadFile(FILE)).filter(({ name }) => name.includes('atRisk'));
  expect(shown.map(({ name, text }) => `${name} ${text}`)).toEqual([
    'sites.se.atRisk.before 5m',
    'sites.se.atRisk.minimumAmount.SEK 500.5',
    'polling.atRisk.before 8m',
    'polling.atRisk.minimumAmount.SEK 1000',
    'polling.atRisk.minimumAmount.EUR 100',
  ]);
  expect(shown.map(({ origin }) => origin === 'default')).toEqual([true, false, false, false, false]);
});

test.each([
  ['no duration', 'polling: { atRisk: { before: soon } }', /^polling\.atRisk\.before: "soon" is not a duration/],
  [
    'no number',
    'polling: { atRisk: { minimumAmount: { SEK: much } } }',
    /^polling\.atRisk\.minimumAmount\.SEK: "much" is not a number/,
  ],
  [
    'less than nothing',
    'polling: { atRisk: { minimumAmount: { SEK: -1 } } }',
    /^polling\.atRisk\.minimumAmount\.SEK: -1 is not a number from 0 on/,
  ],
  [
    'no currency',
    'polling: { atRisk: { minimumAmount: { kr: 1 } } }',
    /^polling\.atRisk\.minimumAmount\.kr: "kr" is not a currency in three capital letters, such as SEK/,
  ],
  ['another word', 'polling: { atRisk: { after: 5m } }', /^polling\.atRisk\.after: is not a setting/],
  [
    'as long as a session',
    'polling: { atRisk: { before: 30m } }',
    /^polling\.atRisk\.before: 30m is not shorter than a session \(polling\.sessionLength: 30m\)$/,
  ],
  ['the same at a site', `sites: { se: ${site(', atRisk: { before: 31m }')} }`, /^sites\.se\.atRisk\.before: 31m is not shorter/],
  [
    'amounts that are not stored',
    'polling: { atRisk: { minimumAmount: { SEK: 1 } } }\nstore: { fields: [Price] }',
    /^polling\.atRisk\.minimumAmount: store\.fields does not name CurrencyCode; add that, or take the amounts away$/,
  ],
  [
    'the same of a site',
    `sites: { se: ${site(', atRisk: { minimumAmount: { SEK: 1 } }')} }\nstore: { fields: [OrderReference] }`,
    /^sites\.se\.atRisk\.minimumAmount: store\.fields does not name Price and CurrencyCode/,
  ],
])('%s is refused', (_, content, line) => {
  expect(problems(content)).toEqual([expect.stringMatching(line)]);
});

test('any amount needs no stored field', () => {
  expect(loadFile('polling: { atRisk: {} }\nstore: { fields: [OrderReference] }').policy.atRisk).not.toBeNull();
});

test('a file that is only rehearsed has the rules of its sites, too', () => {
  const path = temporaryFile('');
  writeFileSync(path, FILE);
  const { policy } = loadAlertSettings({}, path, []);
  expect(policyOfSite(policy, 'se').atRisk).toMatchObject({ minimumAmount: { SEK: 500.5 } });
  expect(policy.atRisk).toMatchObject({ before: 480_000 });
});
