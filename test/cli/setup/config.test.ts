import { expect, test } from 'vitest';
import { temporaryFile } from '../../config/files.ts';
import { runCommand } from '../run.ts';

test('config shows settings as an aligned table', async () => {
  const { exitCode, stdout } = await runCommand(['config'], { PORT: '81' });
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^setting +value +from\n/);
  expect(stdout).toMatch(/^PORT +81 +environment$/m);
  expect(stdout).toMatch(/^There is no site yet/m);
});

test('config --json, --schema and --markdown are for programs', async () => {
  const { stdout } = await runCommand(['config', '--json'], { PORT: '81' });
  expect(JSON.parse(stdout)).toMatchObject({ settings: { PORT: { value: 81, origin: 'environment' } }, ignored: [] });
  expect(JSON.parse((await runCommand(['config', '--schema'])).stdout).title).toBe('purchase-watch settings');
  expect((await runCommand(['config', '--markdown'])).stdout).toMatch(/^### Variables/);
  expect(await runCommand(['config', '--json', '--schema'])).toMatchObject({ exitCode: 2, stdout: '' });
});

test('wrong settings are all named, with exit code 2', async () => {
  const { exitCode, stdout, stderr } = await runCommand(['config'], { PORT: 'x', LOG_LEVEL: 'loud' });
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(/^error: 2 problems\n {2}PORT: .*\n {2}LOG_LEVEL: .*\n$/);
});

test('variables that the file replaces are named', async () => {
  const env = { PURCHASE_WATCH_CONFIG: temporaryFile('sites: {}'), CHECKOUT_TIMEOUT: '5s' };
  expect((await runCommand(['config'], env)).stdout).toMatch(
    /^Ignored, because the file has sites of its own: CHECKOUT_TIMEOUT$/m,
  );
});

test('no secret is ever written, be the settings right or wrong', async () => {
  const secret = (name: string) => `sentinel${name}`;
  const signing = (name: string) => `whsec_${Buffer.from(`sentinel-${name}-`.padEnd(32, 'x')).toString('base64')}`;
  const right = {
    DATABASE_URL: `postgres://user:${secret('Db')}@db.example/shop?password=${secret('Db2')}`,
    SLACK_WEBHOOK_URL: `https://hooks.slack.com/services/${secret('Slack')}`,
    WEBHOOK_URL: `https://shop.example/hook?token=${secret('Query')}`,
    WEBHOOK_SECRET: signing('env'),
    API_KEY: secret('TheKeyOfTheApi'),
    API_READ_KEY_FILE: temporaryFile(secret('ReadKeyOfTheApi')),
    SECRETS_KEY: secret('Secrets').padEnd(40, 'x'),
    SE_SECRET: secret('Site'),
    SHOP_SECRET: signing('shop'),
    PURCHASE_WATCH_CONFIG: temporaryFile(
      `sites: { se: { baseUrl: https://se.example, clientId: me, clientSecret: \${SE_SECRET} }, fi: { baseUrl: https://fi.example, clientId: me, clientSecret: ${secret('Plain')} } }
subscribers: { shop: { url: https://shop.example, secret: \${SHOP_SECRET} } }
api: { keys: { shop: { scopes: [read], key: ${secret('AKeyOfTheFile')} } } }`,
    ),
  };
  const misplaced = `sites: { se: { baseUrl: "https://u:${secret('Url')}@se.example/?k=${secret('Url2')}", clientId: [${secret('List')}], clientSecret: { a: ${secret('Map')} }, maxRps: \${SE_SECRET}, secert: ${secret('Typo')} } }
subscribers: { shop: { url: https://shop.example, secret: ${secret('Malformed')} }, b: ${secret('Scalar')} }
slack: ${secret('Section')}
api: { keys: { a: { scopes: [${secret('Scope').slice(8)}], key: ${secret('Short')}, hash: ${secret('NoHash')} } } }
stuff: ${secret('Stuff')}`;
  const wrong = {
    ...right,
    DATABASE_URL: secret('Db'),
    SLACK_WEBHOOK_URL: `x ${secret('Slack')}`,
    WEBHOOK_SECRET: secret('Signing'),
    WEBHOOK_URL: `https://u:p/${secret('Pass')}@shop.example/?q=${secret('Query')}`,
    API_KEY: `${secret('Key')} ${secret('Key')}`,
    SECRETS_KEY: secret('S').slice(0, 12),
    CHECKOUT_CLIENT_SECERT: secret('Typo'),
    PURCHASE_WATCH_CONFIG: temporaryFile(misplaced),
  };
  const broken = {
    ...right,
    PURCHASE_WATCH_CONFIG: temporaryFile(`sites: { se: { clientSecret: ${secret('A')}, clientSecret: *${secret('B')} ]`),
  };
  for (const [env, exitCode] of [
    [right, 0],
    [wrong, 2],
    [broken, 2],
  ] as const) {
    for (const argv of [['config'], ['config', '--json'], ['plan'], ['plan', '--json', '--purchases-per-hour', '5']]) {
      const result = await runCommand(argv, { ...env, LOG_LEVEL: 'debug' });
      expect(result.exitCode, result.stderr).toBe(exitCode);
      expect(result.stdout + result.stderr).not.toMatch(/sentinel|c2VudGluZWw/);
    }
  }
});
