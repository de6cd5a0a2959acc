/** Marks over API and commands, and beside trends. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../cli/run.ts';
import { startTestApi, type TestApi } from '../api.ts';

const HOUR = 3_600_000;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ sites: ['se', 'no'] });
});
afterAll(() => api.stop());
beforeEach(() => api.sql`truncate purchase_watch_internal.marks`);

const add = (json: object, headers: Record<string, string> = {}) => api.call('POST', '/v1/marks', { json, headers });
const list = async (query = '') => (await api.call('GET', `/v1/marks${query}`)).body;
const textsOf = ({ data }: { data: { text: string }[] }) => data.map(({ text }) => text);
const command = (...argv: string[]) => runCommand(argv, { DATABASE_URL: api.databaseUrl });

test('one is added, listed and deleted', async () => {
  const { status, body } = await add({ text: ' deploy 4.2 ' });
  expect([status, body]).toEqual([
    201,
    { id: expect.stringMatching(/^mrk_\d+$/), at: expect.any(String), text: 'deploy 4.2', site: null },
  ]);
  expect(Math.abs(Date.parse(body.at) - Date.now())).toBeLessThan(HOUR);
  expect(await list()).toEqual({ data: [body], nextCursor: null });
  expect((await api.call('DELETE', `/v1/marks/${body.id}`)).status).toBe(204);
  expect((await list()).data).toEqual([]);
  expect((await api.call('DELETE', `/v1/marks/${body.id}`)).body).toMatchObject({
    code: 'mark_not_found',
    detail: expect.stringContaining('GET /v1/marks'),
  });
  const { data } = (await api.call('GET', `/v1/actions?about=${body.id}`)).body;
  expect(data.map(({ call }: { call: string }) => call)).toEqual(['DELETE /v1/marks/{id}', 'POST /v1/marks']);
});

test('a request that CI repeats adds one', async () => {
  const key = { 'idempotency-key': 'pipeline-7' };
  const [first, again] = [await add({ text: 'deploy 4.3' }, key), await add({ text: 'deploy 4.3' }, key)];
  expect(again.body).toEqual(first.body);
  expect((await list()).data).toHaveLength(1);
});

test('the list has those of a site with those of all sites, page by page', async () => {
  for (const [text, site] of [['one'], ['two', 'se'], ['three', 'no']]) await add({ text, site });
  expect(textsOf(await list('?site=se'))).toEqual(['two', 'one']);
  const page = await list('?limit=2');
  expect(textsOf(page)).toEqual(['three', 'two']);
  expect(textsOf(await list(`?limit=2&cursor=${page.nextCursor}`))).toEqual(['one']);
});

test.each([
  [{}, 'text', /missing/],
  [{ text: ' ' }, 'text', /is empty; give a few words/],
  [{ text: 'x'.repeat(201) }, 'text', /at most 200/],
  [{ text: 'two\nlines' }, 'text', /line break/],
  [{ text: 'x', at: 'soon' }, 'at', /a time with its zone/],
  [{ text: 'x', at: '2999-01-01T00:00:00Z' }, 'at', /must not be in the future/],
  [{ text: 'x', site: 'see' }, 'site', /did you mean se/],
])('%j is refused', async (json, field, detail) => {
  const { status, body } = await add(json);
  expect([status, body.errors]).toEqual([400, [expect.objectContaining({ field, detail: expect.stringMatching(detail) })]]);
  expect((await list()).data).toEqual([]);
});

test('trends have those of their time', async () => {
  await add({ text: 'deploy of all', at: '2h' });
  await add({ text: 'deploy of se', at: '3h', site: 'se' });
  await add({ text: 'deploy of no', at: '3h', site: 'no' });
  await add({ text: 'last week', at: '7d' });
  const { marks } = (await api.call('GET', '/v1/trends?range=24h&site=se')).body;
  expect(textsOf({ data: marks })).toEqual(['deploy of se', 'deploy of all']);
  expect((await list('?site=se')).data).toContainEqual(marks[0]);
});

test('commands add, list and delete them', async () => {
  const { exitCode, stdout } = await command('mark', 'deploy 4.2', '--at', '2h', '--site', 'se');
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^mrk_\d+: deploy 4\.2, at \S+Z, se\n$/)]);
  const id = stdout.split(':')[0]!;
  expect((await command('marks')).stdout).toMatch(new RegExp(`^${id} +\\S+Z +se +deploy 4\\.2$`, 'm'));
  expect((await command('trends', '--range', '24h')).stdout).toMatch(/^\S+Z +se +deploy 4\.2$/m);
  expect(JSON.parse((await command('marks', '--site', 'no', '--json')).stdout)).toEqual({ data: [], nextCursor: null });
  expect((await command('marks', 'delete', id)).stdout).toBe(`${id} is deleted\n`);
  expect((await command('marks', 'delete', id)).stderr).toBe(
    `error: there is no mark ${id}; "purchase-watch marks" lists them\n`,
  );
  expect((await command('mark', 'x', '--at', '2999-01-01T00:00:00Z')).stderr).toMatch(
    /^error: --at: .*must not be in the future/,
  );
});
