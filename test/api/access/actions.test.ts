/** What people and programs change is recorded: by each door, with who and from where, and without what they wrote. */
import { Hono } from 'hono';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessLog } from '../../../src/api/access/access-log.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { runCommand } from '../../cli/run.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';

const OPERATOR = 'operator-key-0123456789abcdef0123456789';
const READER = 'reader-key-0123456789abcdef0123456789abc';

let t: TestApp;
let origin: string;
let purchase: string;

beforeAll(async () => {
  t = await startTestApp({ realClock: true, env: { API_KEY: OPERATOR, API_READ_KEY: READER } });
  purchase = await t.watch();
  await t.app.start();
  origin = t.app.url()!;
});
afterAll(() => t?.stop());

interface Action {
  readonly id: string;
  readonly at: string;
  readonly key: string | null;
  readonly address: string;
  readonly via: string;
  readonly call: string;
  readonly subject: Record<string, string | number>;
  readonly outcome: string;
}

const ask = (method: string, path: string, body?: unknown, key = OPERATOR) =>
  fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const list = async (query = ''): Promise<{ data: Action[]; nextCursor: string | null }> =>
  (await (await ask('GET', `/v1/actions${query}`, undefined, READER)).json()) as { data: Action[]; nextCursor: string | null };
const command = (...argv: string[]) => runCommand(argv, { DATABASE_URL: t.database.url });
const since = async (work: () => Promise<unknown>): Promise<Action[]> => {
  const before = new Set((await list('?limit=500')).data.map(({ id }) => id));
  await work();
  return (await list('?limit=500')).data.filter(({ id }) => !before.has(id));
};
const WISH = { kind: 'unreachable', reason: 'a reason nobody else reads', by: 'Kim Operator', endsAt: '2h' };

test('a change through the API is recorded before it is answered, without what was written', async () => {
  const [action, ...others] = await since(async () => expect((await ask('POST', '/v1/silences', WISH)).status).toBe(201));
  expect(others).toEqual([]);
  expect(action).toEqual({
    ...{
      id: expect.stringMatching(/^act_\d+$/),
      at: expect.stringMatching(/Z$/),
      key: 'API_KEY',
      person: null,
      address: '127.0.0.1',
    },
    ...{ via: 'api', call: 'POST /v1/silences', subject: { id: expect.stringMatching(/^sil_\d+$/) }, outcome: 'done' },
  });
  expect(JSON.stringify(await list())).not.toMatch(/nobody else|Kim/);
});

test.each<[string, () => Promise<Response>]>([
  ['a registration', () => ask('POST', '/v1/purchases', { purchaseId: 'new-1' })],
  ['many registrations', () => ask('POST', '/v1/purchases/batch', { purchases: [{ purchaseId: 'new-2' }] })],
  ['a poll that a program asks for', () => ask('POST', `/v1/purchases/${purchase}/poll`)],
  ['what is read', () => ask('GET', '/v1/overview')],
  ['what was refused for its form', () => ask('POST', '/v1/silences', {})],
  ['what the key may not do', () => ask('POST', '/v1/silences', WISH, READER)],
  ['a dry run', () => ask('POST', '/v1/subscribers/default/replay', { since: '1h', dryRun: true })],
])('%s is not recorded', async (_, call) => {
  expect(await since(async () => expect((await call()).status).toBeLessThan(500))).toEqual([]);
});

test('commands are recorded with the account and the machine, and the list of commands shows all', async () => {
  const actions = await since(async () => {
    const { stdout } = await command(
      'silences',
      'add',
      '--kind',
      'unreachable',
      '--for',
      '1h',
      '--reason',
      'secret plan',
      '--by',
      'Kim',
      '--json',
    );
    await command('silences', 'end', JSON.parse(stdout).id);
    await command('replay', '--subscriber', 'default', '--since', '1h', '--dry-run');
    await command('replay', '--subscriber', 'default', '--since', '1h');
  });
  expect(actions.map(({ via, call, key }) => [via, call, key])).toEqual([
    ['cli', 'replay', null],
    ['cli', 'silences end', null],
    ['cli', 'silences add', null],
  ]);
  expect(actions[0]).toMatchObject({
    address: expect.stringMatching(/^.+@.+$/),
    subject: { id: 'default', count: expect.any(Number) },
  });
  const shown = await command('actions', '--via', 'cli', '--limit', '2');
  expect(shown.stdout).toMatch(
    / cli +replay +default, count \d+ +done\n[\s\S]* silences end +sil_\d+ +done\n\nThere are more: --cursor act_\d+\n$/,
  );
  expect(JSON.parse((await command('actions', '--via', 'cli', '--json')).stdout).data).toEqual((await list('?via=cli')).data);
  expect((await command('actions', '--about', 'inc_none')).stdout).toBe('No actions.\n');
});

test('filters and pages', async () => {
  for (let count = 0; count < 3; count += 1) await ask('POST', '/v1/silences', WISH);
  const { data } = await list('?key=API_KEY&via=api&limit=500');
  const first = await list('?key=API_KEY&via=api&limit=2');
  const second = await list(`?key=API_KEY&via=api&limit=2&cursor=${first.nextCursor}`);
  expect([...first.data, ...second.data]).toEqual(data.slice(0, 4));
  const about = String(data[0]!.subject.id);
  await ask('DELETE', `/v1/silences/${about}`);
  expect((await list(`?about=${about}`)).data.map(({ call }) => call)).toEqual(['DELETE /v1/silences/{id}', 'POST /v1/silences']);
  expect((await ask('GET', '/v1/actions?via=phone')).status).toBe(400);
});

test('signing in to the console and out is recorded, and what a person does there', async () => {
  const post = (path: string, fields: Record<string, string>, cookie = '') =>
    fetch(`${origin}${path}`, {
      ...{ method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' },
      headers: { 'sec-fetch-site': 'same-origin', cookie },
    });
  const actions = await since(async () => {
    const cookie = (await post('/sign-in', { key: OPERATOR })).headers.getSetCookie()[0]!.split(';')[0]!;
    await post('/sign-in', { key: 'wrong-key-0123456789abcdef0123456789abcd' });
    await post('/sign-out', { from: 'everywhere' }, cookie);
  });
  expect(actions.map(({ via, call, key, address }) => [via, call, key, address])).toEqual([
    ['console', 'sign out everywhere', 'API_KEY', '127.0.0.1'],
    ['console', 'sign in', 'API_KEY', '127.0.0.1'],
  ]);
});

test('the id of a purchase that is erased is taken out, of the same purchase at another site not', async () => {
  const id = await t.watch();
  await ask('DELETE', `/v1/purchases/${id}?site=default`);
  await t.database.sql`
    insert into purchase_watch_internal.actions (address, via, call, subject, outcome)
    values ('here', 'api', 'DELETE /v1/purchases/{id}', jsonb_build_object('id', ${id}::text, 'site', 'other'), 'done')`;
  expect((await list(`?about=${id}`)).data).toHaveLength(2);
  const forgotten = await since(async () => expect((await command('forget', id, '--yes')).exitCode).toBe(0));
  expect(forgotten).toMatchObject([{ via: 'cli', call: 'forget', subject: { site: 'default' } }]);
  expect((await list(`?about=${id}`)).data).toMatchObject([{ subject: { id, site: 'other' } }]);
});

test('a call that erases a purchase does not name it again', async () => {
  const recorded: unknown[] = [];
  const app = new Hono();
  const rule = { call: 'POST /v1/purchases/{id}/forget', scope: 'operate', isOptional: false, isPersonal: false } as const;
  const log = createLogger({ level: 'silent' });
  app.use(accessLog({ log, ruleOf: () => rule, record: async (action) => void recorded.push(action) }));
  app.post('/v1/purchases/:id/forget', (c) => {
    c.req.addValidatedData('param', { id: c.req.param('id') });
    c.req.addValidatedData('query', { site: 'se' });
    return c.text('erased');
  });
  expect((await app.request('/v1/purchases/p-1/forget', { method: 'POST' })).status).toBe(200);
  expect(recorded).toMatchObject([{ call: rule.call, subject: { site: 'se' } }]);
  expect(JSON.stringify(recorded)).not.toContain('p-1');
});

test('a change is answered though it could not be recorded, and the log says so', async () => {
  await t.database.sql`alter table purchase_watch_internal.actions rename to actions_away`;
  try {
    expect((await ask('POST', '/v1/silences', WISH)).status).toBe(201);
  } finally {
    await t.database.sql`alter table purchase_watch_internal.actions_away rename to actions`;
  }
  expect(t.log.join('')).toContain('api.action_not_recorded');
});
