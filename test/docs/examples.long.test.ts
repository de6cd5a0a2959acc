/** Every example of README and docs works as it stands, on a daemon, a database and a checkout service of its own. */

import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { newSigningKey } from '../../src/config/kinds/signing-key.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { freePort } from '../../src/demo/cast/free-port.ts';
import type { OpenApiDocument } from '../../tools/book/api/model.ts';
import { schemaChecker } from '../api/schema-checker.ts';
import { makeAuthority } from '../support/certificates.ts';
import { MACHINE_DIR, MACHINE_KEY } from '../support/machine.ts';
import { makeOperator } from '../support/nats-logins.ts';
import { SECRET, startTestApp, type TestApp } from '../support/test-app.ts';
import { DRIVERS } from './drivers.ts';
import { allExamples, type Example } from './examples.ts';
import { createUserProject, type UserProject } from './package.ts';
import { CALLED_ELSEWHERE, EMBEDDED, NOT_RUN, REGISTER_THEMSELVES, SERVICE_THEMSELVES, START_THEMSELVES } from './pages.ts';
import { createShell, type Shell, which } from './shell.ts';

/** What an example has brought about after a while, by page and first words; the reader waits for it before the next one. */
const RESULTS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  'docs/tutorial.md: npx purchase-watch incidents': async ({ daemon, shell }) => {
    await expect.poll(() => shell.run('purchase-watch incidents')).toContain('stuck waiting for the card provider');
    await daemon.slack.waitFor((messages) => messages.some(({ text }) => text.includes('demo-se')), 60_000);
  },
};
const LANGUAGES = ['sh', 'console', 'sql', 'json', 'yaml', 'ts', 'js', 'python', 'php'];
/** Under these names programs read the key of the daemon, which has none of its own here. */
const KEYS = { API_KEY: MACHINE_KEY, REGISTER_KEY: MACHINE_KEY };
const SECRETS_KEY = Buffer.alloc(32, 9).toString('base64');

const examples = allExamples();
const pages = [...new Set(examples.filter(({ language }) => language !== '').map(({ page }) => page))];
const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
// The embedded Postgres may run as another user, who has to get to its data.
chmodSync(folder, 0o755);
let project: UserProject;
beforeAll(async () => {
  project = await createUserProject(join(folder, 'project'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const nameOf = ({ page, text }: Example): string => `${page}: ${text.trim().replace(/\s+/g, ' ').slice(0, 50).trim()}`;

test('every block names a language that is run here, or none; what is not run is listed here and says why there', () => {
  const strange = examples.filter(({ language }) => language !== '' && !LANGUAGES.includes(language));
  expect(strange.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
  expect(examples.filter(({ notRun }) => notRun !== null).map(nameOf)).toEqual(NOT_RUN);
  const commands = examples.filter(
    ({ language, text }) => language === '' && /^\s*(\$ |curl |npx |npm |psql |purchase-watch )/m.test(text),
  );
  expect(commands.map(nameOf), 'commands belong into a block of sh, or of console with what they print').toEqual([]);
  expect(examples.filter(({ language }) => language !== '').length).toBeGreaterThan(20);
});

describe.each(pages)('%s', (page) => {
  const blocks = examples.filter((example) => example.page === page && example.language !== '' && example.notRun === null);

  test.runIf(blocks.length > 0)(
    'works from top to bottom',
    async () => {
      const stage = await setUp(page, blocks);
      try {
        for (const block of blocks) {
          await run(block, stage).catch((error: unknown) => {
            throw new Error(`${block.page}:${block.line} (${block.language}) does not work: ${text(error)}\n${stage.trouble()}`, {
              cause: error,
            });
          });
          await RESULTS[nameOf(block)]?.(stage);
        }
      } finally {
        await stage.end();
      }
    },
    180_000,
  );
});

interface Stage {
  readonly page: string;
  readonly daemon: TestApp;
  readonly shell: Shell;
  readonly env: Readonly<Record<string, string>>;
  /** What the reader has instead of the placeholders of the pages. */
  filled(text: string): string;
  /** What the daemon complained of. */
  trouble(): string;
  end(): Promise<void>;
}

async function setUp(page: string, blocks: readonly Example[]): Promise<Stage> {
  const daemon = await startTestApp({
    realClock: true,
    env: { SECRETS_KEY },
    simulator: { sites: [{ code: 'demo-se', currency: 'SEK', country: 'SWE' }] },
  });
  const ids = new Set(
    blocks.flatMap(({ text }) =>
      [...text.matchAll(/\b(?:2f1c9a|3f6b8a)[0-9a-f]+(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?\b/g)].map(([id]) => id),
    ),
  );
  for (const purchaseId of ids) {
    daemon.simulator.control.add({ purchaseId, script: [{ state: 'Completed' }], price: '249.50', paymentMethod: 'invoice' });
  }
  const port = await freePort();
  const service = {
    CHECKOUT_BASE_URL: daemon.simulator.url,
    CHECKOUT_CLIENT_ID: 'demo-client',
    CHECKOUT_CLIENT_SECRET: 'demo-secret',
  };
  const env = {
    ...(EMBEDDED.includes(page) ? {} : { DATABASE_URL: daemon.database.url }),
    ...(SERVICE_THEMSELVES.includes(page) ? {} : service),
    SLACK_WEBHOOK_URL: daemon.slack.url,
    WEBHOOK_URL: daemon.receiver.url,
    WEBHOOK_SECRET: SECRET,
    BROKER_SECRET: SECRET,
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    WEBHOOK_API_ALLOW_ADDRESSES: '127.0.0.0/8',
    SECRETS_KEY,
    PORT: String(port),
  };
  const place = mkdtempSync(join(folder, 'shell-'));
  chmodSync(place, 0o755);
  const shell = createShell(place, env);
  if (!START_THEMSELVES.includes(page)) {
    // The reader's daemon was started in the same folder.
    cpSync(MACHINE_DIR, join(place, 'work/.purchase-watch'), { recursive: true });
    await daemon.app.start();
    shell.setOrigin(daemon.app.url()!);
  }
  if (!REGISTER_THEMSELVES.includes(page)) {
    for (const id of ids) await daemon.app.sql`select purchase_watch.watch(${id}, reference => 'ORD-1')`;
    if (ids.size > 0) await daemon.receiver.waitFor((received) => received.length >= ids.size, 20_000);
  }
  return {
    page,
    daemon,
    shell,
    env,
    filled: (text) =>
      text
        .replaceAll('https://checkout.example', daemon.simulator.url)
        .replaceAll('CHECKOUT_CLIENT_ID=…', 'CHECKOUT_CLIENT_ID=demo-client')
        .replaceAll('CHECKOUT_CLIENT_SECRET=…', 'CHECKOUT_CLIENT_SECRET=demo-secret')
        .replaceAll('https://hooks.slack.com/services/…', daemon.slack.url)
        .replaceAll(/https:\/\/\w+\.example\/hooks\/?[a-z]*/g, daemon.receiver.url)
        .replaceAll('http://127.0.0.1:8080', daemon.app.url() ?? `http://127.0.0.1:${port}`)
        .replaceAll('2f1c9a7e-…', '2f1c9a7e'),
    trouble: () =>
      daemon.log
        .filter((line) => /"level":"(warn|error)"/.test(line))
        .slice(-3)
        .join(''),
    end: async () => {
      await shell.stop();
      await daemon.stop();
    },
  };
}

function run(example: Example, stage: Stage): Promise<void> {
  switch (example.language) {
    case 'sh':
      return runShell(example, stage);
    case 'console':
      // What is typed stands after a $; the rest is what was printed there and then.
      return runShell(
        { ...example, text: [...example.text.matchAll(/^\$ (.*)/gm)].map(([, command]) => command).join('\n') },
        stage,
      );
    case 'sql':
      return runSql(example, stage);
    case 'json':
      return readJson(example, stage);
    case 'yaml':
      return readYaml(example);
    case 'ts':
    case 'js':
      return runScript(example, stage);
    case 'python':
      return runProgram(example, stage, { check: ['python3', '-m', 'py_compile'], run: ['python3'], extension: 'py' });
    case 'php':
      return runProgram(example, stage, { check: ['php', '-l'], run: ['php', '-d', 'zend.assertions=1'], extension: 'php' });
    default:
      throw new Error(`nothing runs ${example.language}`);
  }
}

async function runShell({ text }: Example, { shell, filled }: Stage): Promise<void> {
  const missing = ['curl', 'jq', 'psql', 'openssl'].find((name) => new RegExp(`\\b${name} `).test(text) && which(name) === null);
  if (missing !== undefined) return console.warn(`not run, because ${missing} is not installed: ${text.slice(0, 60)}`);
  const said = await shell.run(filled(text));
  expect(said).not.toContain('"code":"internal"');
}

/** As psql would: one session, as the schema's owner; a transaction may be begun and ended. */
async function runSql({ text }: Example, { daemon, filled }: Stage): Promise<void> {
  const roles = [...text.matchAll(/create role (\w+)/g)]
    .map(([, name]) => name!)
    .filter((name) => !name.startsWith('purchase_watch'));
  const sql = postgres(daemon.database.url, { max: 1, onnotice: () => undefined });
  try {
    for (const role of roles) await sql.unsafe(`drop role if exists ${role}`);
    await sql.unsafe(filled(text)).simple();
  } finally {
    await sql.unsafe('rollback').catch(() => undefined);
    // Roles belong to the whole server, which other tests use.
    for (const role of roles)
      await sql
        .unsafe(`drop owned by ${role}; drop role ${role}`)
        .simple()
        .catch(() => undefined);
    await sql.end();
  }
}

/** What looks like an event must be one by the API's own description. */
async function readJson({ text }: Example, { daemon }: Stage): Promise<void> {
  const value = JSON.parse(text) as { type?: string; data?: unknown };
  if (value.type === undefined || value.data === undefined) return;
  const document = (await (await fetch(`${daemon.app.url()}/openapi.json`)).json()) as OpenApiDocument;
  expect(schemaChecker(document)({ $ref: '#/components/schemas/Event' }, value)).toBeNull();
}

/** A settings file must be accepted; what is for other programs must be YAML. */
async function readYaml({ text }: Example): Promise<void> {
  const documents = parseAllDocuments(text.replaceAll(/\$\{\w+\}/g, 'value'));
  expect(documents.flatMap(({ errors }) => errors.map(({ message }) => message))).toEqual([]);
  const keys = Object.keys((documents[0]?.toJS() as object | null) ?? {});
  if (!keys.some((key) => ['sites', 'states', 'polling', 'slack', 'subscribers', 'webhooks', 'store'].includes(key))) return;
  const path = join(mkdtempSync(join(folder, 'yaml-')), 'config.yaml');
  writeFileSync(path, text);
  const { certificate, key } = text.includes('_CERTIFICATE}')
    ? makeAuthority().issue('any.example')
    : { certificate: '', key: '' };
  const others: Readonly<Record<string, string>> = {
    SIGNING_KEY: newSigningKey(),
    CERTIFICATE: certificate,
    KEY: key,
    CREDS: makeOperator().creds('audit'),
  };
  const standIn = (name: string) =>
    name.endsWith('_SMTP_URL')
      ? 'smtps://user:password@a.example'
      : name.endsWith('_URL')
        ? `https://a.example/${name}`
        : (others[name.slice(name.indexOf('_') + 1)] ?? SECRET);
  const named = [...text.matchAll(/(?<!\$)\$\{(\w+)\}/g)].map(([, name]) => [name!, standIn(name!)] as const);
  expect(() => loadSettings({ PURCHASE_WATCH_CONFIG: path, ...Object.fromEntries(named) })).not.toThrow();
}

/** Type checked, then run: by itself, or by what calls the functions it exports. */
async function runScript({ text, language, line, page }: Example, stage: Stage): Promise<void> {
  const source = stage.filled(text);
  const place = join(project.folder, `${page.replaceAll(/\W/g, '-')}-${line}`);
  mkdirSync(place, { recursive: true }); // A second try of the page finds the folder of the first.
  const file = language === 'ts' ? 'example.ts' : 'example.mjs';
  writeFileSync(join(place, file), source);
  if (language === 'ts') {
    expect(await project.check([join(place, file)], ['--exactOptionalPropertyTypes', '--skipLibCheck', '--types', 'node'])).toBe(
      '',
    );
  }
  const exported = [...source.matchAll(/^export (?:async )?(?:function|const) (\w+)/gm)].map(([, name]) => name!);
  if (exported.length === 0) return void (await project.run(join(place, file), { ...stage.env, ...KEYS }));
  const driver = exported.map((name) => DRIVERS[name]).find((each) => each !== undefined);
  if (driver === undefined) throw new Error(`nothing calls ${exported.join(', ')}; add a driver`);
  writeFileSync(join(place, 'driver.mjs'), driver.replaceAll('./example.ts', `./${file}`));
  await project.run(join(place, 'driver.mjs'), { ...stage.env, ...KEYS });
}

/** Run as it stands; only compiled where another test calls what it defines. */
async function runProgram(
  { text, page, line }: Example,
  { env, filled }: Stage,
  commands: { readonly check: readonly string[]; readonly run: readonly string[]; readonly extension: string },
): Promise<void> {
  const [command, ...args] = CALLED_ELSEWHERE.includes(page) ? commands.check : commands.run;
  if (which(command!) === null) return console.warn(`${page}:${line}: not run, because ${command} is not installed here`);
  const path = join(mkdtempSync(join(folder, 'program-')), `example.${commands.extension}`);
  writeFileSync(path, filled(text));
  await promisify(execFile)(command!, [...args, path], { env: { PATH: process.env.PATH, ...env, ...KEYS }, timeout: 60_000 });
}

function text(error: unknown): string {
  const { message, stdout, stderr } = error as { message?: string; stdout?: string; stderr?: string };
  return [message, stdout, stderr].filter(Boolean).join('\n').slice(0, 4_000);
}

describe('the types of the package', () => {
  test('stand alone: nothing else need be installed, and nothing in them is an error', async () => {
    const path = join(project.folder, 'alone.ts');
    writeFileSync(
      path,
      `import { createPurchaseWatchClient, verifyWebhook, type WatchEvent } from 'purchase-watch';
import { type Simulator, startSimulator } from 'purchase-watch/simulator';
const checkout: Simulator = await startSimulator({ timeScale: 20 });
checkout.control.negotiate({ script: 'card-paid', price: '249.50' });
// @ts-expect-error there is no such life
checkout.control.negotiate({ script: 'card-payed' });
const client = createPurchaseWatchClient({ baseUrl: 'http://127.0.0.1:8080' });
const { price } = await client.get('p');
const digits: string | null = price;
const event: WatchEvent = verifyWebhook({ payload: '', headers: {}, secrets: [] });
if (event.type === 'purchase.stuck') console.log(digits, event.data.stuckSince.length);
// @ts-expect-error an amount is text, so that nobody adds up rounded numbers
const rounded: number = price;
// @ts-expect-error only an event that is told apart has these fields
console.log(rounded, event.data.stuckSince);
`,
    );
    expect(await project.check([path], ['--types', ''])).toBe('');
    expect(await project.check([path], ['--types', '', '--module', 'esnext', '--moduleResolution', 'bundler'])).toBe('');
  });
});
