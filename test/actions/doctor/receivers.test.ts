/** What doctor advises about receivers. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Finding } from '../../../src/actions/overview/finding.ts';
import { sealKeys, sealUrl } from '../../../src/channels/outgoing/sealed.ts';
import { insertSubscriber } from '../../../src/postgres/subscribers/changes.ts';
import { createSecrets } from '../../../src/runtime/secrets/secrets.ts';
import { runCommand } from '../../cli/run.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { SECRET } from '../../support/test-app.ts';

const SECRETS_KEY = 'an encryption key of many characters';
let database: TestDatabase;
beforeEach(async () => {
  database = await testDatabase();
});
afterEach(() => database.drop());

/** What it says of a receiver made by the API, behind a proxy. */
async function found(url: string): Promise<string> {
  const secrets = createSecrets(SECRETS_KEY);
  await insertSubscriber(database.sql, {
    ...{ name: 'books', types: null, sites: null, states: null, description: null },
    ...{ options: null, format: 'standard', addressHash: 'x' },
    url: sealUrl(secrets, 'books', url),
    keys: sealKeys(secrets, 'books', [{ key: SECRET, until: null }]),
  });
  const { stdout } = await runCommand(['doctor', '--json'], {
    ...{ DATABASE_URL: database.url, SECRETS_KEY, PORT: '0', WEBHOOK_PROXY: 'http://127.0.0.1:9' },
    ...{ CHECKOUT_BASE_URL: 'http://127.0.0.1:9', CHECKOUT_CLIENT_ID: 'a', CHECKOUT_CLIENT_SECRET: 'b', CHECKOUT_TIMEOUT: '1s' },
  });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return findings.flatMap(({ found: what, todo, about }) => (about.includes('books') ? [`${what} → ${todo}`] : [])).join('\n');
}

test.each(['http://127.0.0.1:9/', 'http://localhost:9/'])('behind a proxy %s can be allowed, and how is said', async (url) => {
  expect(await found(url)).toMatch(/ → if it is meant, set WEBHOOK_API_ALLOW_ADDRESSES=127\.0\.0\.0\/8/);
});
