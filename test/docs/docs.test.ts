import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { FAULT_KINDS, LIFE_NAMES, PAYMENT_METHOD } from '../../packages/simulator/src/contract/names.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { markdownReference } from '../../src/config/reference.ts';
import { EVENT_TYPES } from '../../src/domain/events/system-event-types.ts';
import { DEFAULT_POLL_POLICY } from '../../src/domain/polling/poll-plan.ts';
import { STATE_NAMES } from '../../src/domain/purchases/states.ts';
import { formatDuration, humanDuration } from '../../src/domain/values/duration.ts';
import { commandsPage } from '../../tools/commands.ts';
import { DEFAULT_DELIVERY_SCHEDULE } from '../support/delivery-schedule.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'bench/README.md',
  'packages/client/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

/** The fenced blocks of a language in a page. */
function blocks(path: string, language: string): string[] {
  return [...read(path).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```/gm)]
    .filter(([, fence]) => fence === language)
    .map(([, , text]) => text!);
}

test('the configuration page holds the reference that the schema makes', () => {
  expect(read('docs/configuration.md')).toContain(markdownReference().trim());
});

test('the page of commands is what the commands declare', async () => {
  expect(read('docs/commands.md'), 'write it again: npm run commands').toBe(await commandsPage());
});

test('every command that a page names is one', () => {
  const known = new Set([...read('docs/commands.md').matchAll(/^#{3,4} ([a-z -]+)$/gm)].map(([, name]) => name!));
  const groups = new Set([...known].flatMap((name) => (name.includes(' ') ? [name.split(' ')[0]!] : [])));
  const named = PAGES.flatMap((page) =>
    [...read(page).matchAll(/(?:purchase-watch |`(?!slack|teams))([a-z]+) ([a-z][a-z-]+)\b/g)].flatMap(([, noun, verb]) => {
      const group = [noun!, `${noun}s`, `${noun}`.replace(/y$/, 'ies')].find((each) => groups.has(each));
      return group === undefined || verb === 'ls' ? [] : [{ page, command: `${group} ${verb}` }];
    }),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ command }) => !known.has(command))).toEqual([]);
});

test('daemon and simulator are called at 127.0.0.1: localhost may lead to ::1, where another program gets the key', () => {
  const calls = (host: string): string[] => PAGES.filter((page) => new RegExp(`\\b${host}:80[89]0\\b`).test(read(page)));
  expect(calls('localhost')).toEqual([]);
  expect(calls('127\\.0\\.0\\.1').length).toBeGreaterThan(5);
});

test("the configuration page's example is a file that works", () => {
  const [yaml] = blocks('docs/configuration.md', 'yaml');
  const path = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), 'config.yaml');
  writeFileSync(path, yaml!);
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const settings = loadSettings({ PURCHASE_WATCH_CONFIG: path, SE_SECRET: 'secret', SHOP_SECRET: secret }, { requireSite: true });
  expect(settings.sites.map((site) => site.name)).toEqual(['se']);
  expect(settings.policy.states.get(2)).toMatchObject({ final: true, recheck: [3_600_000, 86_400_000] });
  expect(settings.subscribers[0]).toMatchObject({ name: 'shop', states: [2] });
});

test.each(PAGES)('every link of %s leads somewhere', (page) => {
  const targets = [...read(page).matchAll(/\]\(([^)#\s]+)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^https?:/.test(target));
  expect(targets.filter((target) => !existsSync(join(ROOT, dirname(page), target)))).toEqual([]);
});

test("the README's pictures exist and say in words what they show; the recording is light and runs no script", () => {
  const pictures = [...read('README.md').matchAll(/<img src="([^"]+)"[^>]* alt="[^"]{30,}">/g)].map(([, path]) => path!);
  expect(pictures).toContain('docs/pictures/demo-terminal.svg');
  expect(pictures.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const recording = read('docs/pictures/demo-terminal.svg');
  expect(Buffer.byteLength(recording)).toBeLessThan(300_000);
  expect(recording).not.toMatch(/<script|<foreignObject|\son\w+=|href="(?!#)/i);
});

test('the webhook page lists every type that is sent, and the schedule as it is', () => {
  const page = read('docs/webhooks.md');
  expect(EVENT_TYPES.filter((type) => !page.includes(`\`${type}\``))).toEqual([]);
  const waits = DEFAULT_DELIVERY_SCHEDULE.map((wait) =>
    formatDuration(wait).replace(/(\d+)(\D+)/, (_, n, unit) => `${n} ${{ m: 'min', d: 'd' }[unit as string] ?? unit}`),
  );
  expect(page.replaceAll('\n', ' ')).toContain(`${waits.slice(0, -1).join(', ').replace('1 d', '24 h')} and 24 h`);
});

test("the simulator's page names every life, payment method and fault", () => {
  const page = read('docs/simulator.md');
  const names = [...LIFE_NAMES, ...Object.keys(PAYMENT_METHOD), ...FAULT_KINDS];
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the simulator's page begins with a shop's whole test, in fewer than 30 lines", () => {
  const [example] = blocks('docs/simulator.md', 'ts');
  expect(example).toMatch(/node:test[\s\S]*startSimulator[\s\S]*negotiate[\s\S]*assert\.equal/);
  expect(example!.trimEnd().split('\n').length).toBeLessThan(30);
  expect(read('docs/simulator.md').indexOf(example!)).toBeLessThan(1_000);
});

test('every command of the README exists', async () => {
  const { run } = await import('../../src/main.ts');
  const names = [...read('README.md').matchAll(/purchase-watch (\w+)/g)].map(([, name]) => name!);
  for (const name of new Set(names)) {
    let text = '';
    const sink = { write: (chunk: string) => (text += chunk) } as unknown as NodeJS.WritableStream;
    expect(await run([name, '--help'], { env: {}, stdin: process.stdin, stdout: sink, stderr: sink, isTTY: false }), name).toBe(
      0,
    );
    expect(text).toContain('Usage: purchase-watch');
  }
});

/** What somebody new wants to change first, and the file where that begins. */
const FIRST_CHANGES: readonly (readonly [row: RegExp, file: string])[] = [
  [/poll interval/, 'src/domain/polling/poll-plan.ts'],
  [/channel/, 'src/channels/registry.ts'],
  [/field of a purchase in the API/, 'src/api/purchases/purchase-body.ts'],
  [/headline/, 'src/channels/people/messages/'],
  [/metric/, 'src/api/metrics/'],
  [/event type/, 'src/domain/events/system-event-types.ts'],
  [/retention rule/, 'src/postgres/upkeep/retention.ts'],
  [/column/, 'src/postgres/'],
  [/flag/, 'src/cli/commands.ts'],
  [/migration/, 'test/postgres/migrations/landed.test.ts'],
  [/simulator/, 'packages/simulator/src/values/states.ts'],
  [/probe/, 'src/domain/polling/breaker.ts'],
  [/session of the console/, 'src/console/access/sessions.ts'],
  [/session of the checkout service/, 'src/domain/stays/dwell.ts'],
  [/field kept/, 'src/checkout/payment-status.ts'],
  [/without secrets/, 'src/runtime/logger.ts'],
  [/pauses between attempts/, 'src/domain/deliveries/delivery-plan.ts'],
  [/Retry-After/, 'src/domain/deliveries/retry-after.ts'],
  [/several messages/, 'src/daemon/notifier/sending/message-batching.ts'],
  [/hash of a key/, 'src/api/access/keys.ts'],
  [/lease/, 'src/daemon/shards/lease.ts'],
  [/lag of polls/, 'src/api/metrics/purchase-metrics.ts'],
  [/doctor/, 'src/actions/doctor/'],
  [/forget/, 'src/postgres/purchases/erase.ts'],
  [/cause or advice/, 'src/domain/incidents/causes.ts'],
  [/trouble of a replica/, 'src/domain/incidents/replica-trouble.ts'],
  [/page of the console/, 'src/console/pages/pages.ts'],
  [/chart/, 'src/console/pictures/'],
  [/runbook/, 'docs/runbooks.md'],
];
test.each(FIRST_CHANGES)('CONTRIBUTING.md says where to change what %s matches', (row, file) => {
  const rows = [...read('CONTRIBUTING.md').matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)].filter(([, what]) => row.test(what!));
  expect(rows.map(([, , files]) => files).join('\n')).toContain(`\`${file}\``);
});

test('every file and folder that CONTRIBUTING.md names exists', () => {
  const named = [...read('CONTRIBUTING.md').matchAll(/`((?:src|test|docs|migrations)\/[\w./-]*)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(25);
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the index of decisions lists each with its title', () => {
  const titles = readdirSync(join(ROOT, 'docs/decisions'))
    .filter((name) => /^\d{4}-/.test(name))
    .sort()
    .map((name) => {
      const [, number, title] = /^# (\d+)\. (.*)/.exec(read(`docs/decisions/${name}`)) ?? [];
      return `- [${number}](${name}) ${title}`;
    });
  expect(
    read('docs/decisions/README.md')
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('- ')),
  ).toEqual(titles);
});

test('the limits that the page about incidents names are those of the table of states', () => {
  const limited = STATE_NAMES.flatMap((name, value) => {
    const { stuckAfter } = DEFAULT_POLL_POLICY.states.get(value)!;
    return stuckAfter === null ? [] : [`${humanDuration(stuckAfter)} in ${name}`];
  });
  expect(limited.length).toBeGreaterThan(1);
  expect(read('docs/incidents.md')).toContain(`by default ${limited.join(' and ')}; other states have none`);
});
