import { randomBytes } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { hashOfKey } from '../../src/config/api-keys.ts';
import { describeSettings } from '../../src/config/describe.ts';
import { bearerKey, SCOPES } from '../../src/config/kinds/key-kinds.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { publishedSchema } from '../../src/config/reference.ts';
import { loadFile, problemsOf, temporaryFile } from './files.ts';

const KEY = 'a-key-of-twenty-chars';
const HASH = hashOfKey(KEY);
const OTHER = 'another-key-for-the-overlap';
const problems = (content: string, env: NodeJS.ProcessEnv = {}) => problemsOf(() => loadFile(content, env));

test('a key is kept as its hash alone, whichever way it was given', () => {
  // Made with: printf %s a-key-of-twenty-chars | sha256sum
  expect(HASH).toBe('sha256:77fe9f59bafdb15a49ea56c3ea4499f37fd645d5249a5a3b0f68ef36879c8b71');
});

test('keys of variables and of the file are valid beside each other, each with its scopes', () => {
  const settings = loadFile(
    `api: { keys: {
      shop: { scopes: [register, read, read], hash: "${HASH.toUpperCase().replace('SHA256', 'sha256')}" },
      old-shop: { scopes: [register], key: "\${OLD}", expires: 2027-03-31 },
      prometheus: { scopes: [metrics], key: prometheus-may-read-me, expires: "2027-03-31T18:00:00+02:00" } } }`,
    { API_KEY: `${OTHER}-1, ${OTHER}-2`, API_READ_KEY_FILE: temporaryFile(`${OTHER}-3\n`), OLD: 'the-old-key-of-the-shop' },
  );
  expect(settings.apiKeys).toEqual([
    { name: 'API_KEY', scopes: SCOPES, hash: hashOfKey(`${OTHER}-1`), expires: null },
    { name: 'API_KEY[1]', scopes: SCOPES, hash: hashOfKey(`${OTHER}-2`), expires: null },
    { name: 'API_READ_KEY', scopes: ['read', 'metrics'], hash: hashOfKey(`${OTHER}-3`), expires: null },
    { name: 'shop', scopes: ['register', 'read'], hash: HASH, expires: null },
    { name: 'old-shop', scopes: ['register'], hash: hashOfKey('the-old-key-of-the-shop'), expires: Date.parse('2027-03-31') },
    { name: 'prometheus', scopes: ['metrics'], hash: expect.any(String), expires: Date.parse('2027-03-31T16:00:00Z') },
  ]);
  const described = describeSettings(settings).filter(({ name }) => name.startsWith('api.') || name.startsWith('API_'));
  const file = `file ${settings.configFile}`;
  expect(described.map(({ name, text, origin }) => [name, text, origin])).toEqual([
    ['API_KEY', 'set', 'environment'],
    ['API_READ_KEY', 'set', expect.stringMatching(/^file .* \(API_READ_KEY_FILE\)$/)],
    ['api.keys.shop.scopes', 'register, read', file],
    ['api.keys.shop.hash', 'set', file],
    ['api.keys.shop.expires', 'never', 'default'],
    ['api.keys.old-shop.scopes', 'register', file],
    ['api.keys.old-shop.key', 'set', `${file} \${OLD}`],
    ['api.keys.old-shop.expires', '2027-03-31T00:00:00.000Z', file],
    ['api.keys.prometheus.scopes', 'metrics', file],
    ['api.keys.prometheus.key', 'set', file],
    ['api.keys.prometheus.expires', '2027-03-31T16:00:00.000Z', file],
  ]);
});

const SHORT =
  'its value (not shown) is not a key of at least 20 letters, digits and -._~+/= without repetition (make one with: openssl rand -hex 32)';
test.each<[string, string, RegExp | string]>([
  ['a short key', `{ scopes: [read], key: nineteen-characters }`, `api.keys.a.key: ${SHORT}`],
  [
    'a key in place of a hash',
    `{ scopes: [read], hash: ${KEY} }`,
    /^api\.keys\.a\.hash: its value \(not shown\) is not sha256: /,
  ],
  ['both', `{ scopes: [read], hash: "${HASH}", key: ${KEY} }`, 'api.keys.a: has both hash and key; keep hash'],
  ['neither', '{ scopes: [read] }', /^api\.keys\.a: has neither hash nor key; make .* purchase-watch key new$/],
  [
    'no scopes',
    `{ hash: "${HASH}" }`,
    'api.keys.a: scopes is missing or empty; expected one or more of read, metrics, register, operate',
  ],
  [
    'an unknown scope',
    `{ scopes: [reed], hash: "${HASH}" }`,
    /^api\.keys\.a\.scopes\[0\]: "reed" is not one of .* \(did you mean read\?\)$/,
  ],
  [
    'no day',
    `{ scopes: [read], hash: "${HASH}", expires: 2027-02-30 }`,
    /^api\.keys\.a\.expires: "2027-02-30" is not a day such as/,
  ],
  ['a time without a zone', `{ scopes: [read], hash: "${HASH}", expires: 2027-02-03T10:00 }`, /^api\.keys\.a\.expires: /],
  [
    'an unknown field',
    `{ scopes: [read], hash: "${HASH}", expire: 2027-02-03 }`,
    /^api\.keys\.a\.expire: is not a setting \(did you mean expires\?\)/,
  ],
])('%s is refused with what to do', (_name, key, problem) => {
  expect(problems(`api: { keys: { a: ${key} } }`)).toEqual([
    typeof problem === 'string' ? problem : expect.stringMatching(problem),
  ]);
});

test('short keys of the variables are refused with what to do, and one key has one name', () => {
  const ofVariables = { API_KEY: `${KEY} short`, API_READ_KEY: 'short-too' };
  expect(problemsOf(() => loadSettings(ofVariables))).toEqual([`API_READ_KEY: ${SHORT}`, `API_KEY: ${SHORT}`]);
  expect(problems(`api: { keys: { a: { scopes: [read], hash: "${HASH}" } } }`, { API_KEY: KEY })).toEqual([
    'api.keys.a: is the same key as API_KEY; choose another one',
  ]);
});

test.each(['a'.repeat(40), '12345678901234567890', 'passwordpasswordpassw', 'ababcdcdababcdcdabab'])(
  '%s is long and no key',
  (API_READ_KEY) => {
    expect(problemsOf(() => loadSettings({ API_READ_KEY }))).toEqual([`API_READ_KEY: ${SHORT}`]);
  },
);

test('random keys are long enough, as hexadecimal digits and as base64', () => {
  for (let made = 0; made < 1_000; made += 1) {
    const bytes = randomBytes(32);
    for (const key of [bytes.toString('hex'), bytes.toString('base64')]) expect(bearerKey.read(key)).toBe(key);
  }
});

test('any key opens an address that others can reach', () => {
  const HOST = '0.0.0.0';
  expect(problems(`api: { keys: { a: { scopes: [read], hash: "${HASH}" } } }`, { HOST })).toEqual([]);
  expect(problemsOf(() => loadSettings({ HOST, API_READ_KEY: KEY }))).toEqual([]);
  expect(problems('api: { keys: {} }', { HOST })).toEqual([
    expect.stringMatching(/^HOST: .* set API_KEY .* or api\.keys, or use/),
  ]);
});

test('editors learn that a key needs scopes and a hash, or itself', () => {
  const check = new Ajv2020({ strict: false }).compile(publishedSchema());
  const fits = (a: object) => check({ api: { keys: { a } } });
  expect(fits({ scopes: ['read'], hash: HASH, expires: '2027-03-31' })).toBe(true);
  expect(fits({ scopes: ['read'], key: `\${A_KEY}` })).toBe(true);
  expect(
    [{ scopes: ['read'] }, { hash: HASH }, { scopes: ['reed'], hash: HASH }, { scopes: ['read'], hash: KEY }].some(fits),
  ).toBe(false);
});
