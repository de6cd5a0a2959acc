/** Commands remark that a running daemon uses other settings than their terminal. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secretsOf } from '../../../src/actions/subscribers/secrets.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { settingsDigests } from '../../../src/config/settings-digests.ts';
import { DAY } from '../../../src/domain/values/time.ts';
import { renewReplica } from '../../../src/postgres/shards/replicas.ts';
import { packageVersion } from '../../../src/runtime/process/package-version.ts';
import { SITE } from '../../config/files.ts';
import { MIGRATIONS, type TestDatabase } from '../../support/database.ts';
import { startTestApp } from '../../support/test-app.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

const REMARK = /^The results follow the settings of this terminal, and a running daemon uses other settings for /;

describe('a daemon with other limits', () => {
  let database: TestDatabase;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await databaseOf('default');
    env = { ...SITE, DATABASE_URL: database.url };
    const settings = loadSettings(env);
    settings.policy = { ...settings.policy, giveUpAfter: DAY };
    const digests = settingsDigests(settings, packageVersion(), null);
    await renewReplica(database.sql, { id: 'rep_1', process: 'elsewhere', ttl: 600_000, settings: digests });
    await database.sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
    await database.sql`
      insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, severity)
      values ('inc_1', 'stuck', 'default', 6, now(), now(), 3, 3, 0)`;
  });
  afterAll(() => database.drop());

  test.each([
    [['plan']],
    [['why', 'p-1']],
    [['flow']],
    [['status', 'p-1']],
    [['rehearse', '--from', '1h']],
    [['plan', '--json']],
    [['incidents', 'show', 'inc_1']],
    [['silences', 'add', '--site', 'default', '--for', '1h', '--reason', 'works', '--by', 'Kim']],
  ])('%j: a remark beside the results', async (argv) => {
    const { exitCode, stdout, stderr } = await runCommand(argv, env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringMatching(REMARK) });
    expect(stderr).toMatch(
      /other settings for polling\. The page \/system .* "purchase-watch config" those of this terminal\.\n$/,
    );
    expect(stdout).not.toContain('The results follow');
  });

  test.each([[['status']], [['incidents']], [['subscribers']], [['plan', '--quiet']]])('%j: none', async (argv) => {
    expect(await runCommand(argv, env)).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('doctor warns, and names what the daemon has otherwise', async () => {
    const { stdout } = await runCommand(['doctor', '--json', '--no-send'], {
      ...env,
      CHECKOUT_BASE_URL: 'http://127.0.0.1:1',
      PORT: '0',
    });
    const { findings } = JSON.parse(stdout) as { findings: { about: string; verdict: string; found: string }[] };
    expect(findings).toContainEqual(
      expect.objectContaining({
        about: 'daemons',
        verdict: 'warning',
        found: 'the settings of this process were checked, and a running daemon uses other settings for sites and polling',
      }),
    );
  });
});

test('a daemon writes digests of its own settings, and with the same settings no remark is made', async () => {
  const t = await startTestApp({ stuck: 'auto' });
  await t.app.start();
  const own = settingsDigests(t.settings, packageVersion(), secretsOf(t.settings));
  expect(await t.database.sql`select settings_digests as found from purchase_watch_internal.replicas`).toEqual([
    { found: { ...own, schema: `${readdirSync(MIGRATIONS).length}` } },
  ]);
  const same = {
    DATABASE_URL: t.database.url,
    ...{ CHECKOUT_BASE_URL: t.simulator.url, CHECKOUT_CLIENT_ID: 'demo-client', CHECKOUT_CLIENT_SECRET: 'demo-secret' },
    ...{ CHECKOUT_MAX_RPS: '10000', CHECKOUT_TIMEOUT: '10s' },
  };
  expect(await runCommand(['plan'], same)).toMatchObject({ exitCode: 0, stderr: '' });
  expect((await runCommand(['subscribers'], same)).stderr).toMatch(/other settings for receivers\. /);
  await t.stop();
});
