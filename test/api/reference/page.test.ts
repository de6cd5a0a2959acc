/** The reference page: complete, of one file, and usable without a script. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OpenApiDocument, Operation } from '../../../src/api/reference/page-model.ts';
import { startTestApi, type TestApi } from '../api.ts';

let api: TestApi;
let page: string;
let policy: string;
let document: OpenApiDocument;
beforeAll(async () => {
  api = await startTestApi({ apiKey: 's'.repeat(20) });
  const answer = await api.call('GET', '/docs/api.html');
  page = answer.text;
  policy = answer.headers.get('content-security-policy') ?? '';
  document = (await api.call('GET', '/openapi.json')).body;
});
afterAll(() => api.stop());

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.values(item).map((each) => [path, each] as [string, Operation]),
  );
const escaped = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');

test('every operation has its place, with its path, parameters, answers and problem codes', () => {
  for (const [path, operation] of operations()) {
    const from = page.indexOf(`<article id="${operation.operationId}">`);
    expect(from, operation.operationId).toBeGreaterThan(0);
    const part = page.slice(from, page.indexOf('</article>', from));
    expect(part).toContain(`<code>${path}</code>`);
    expect(part).toContain(escaped(operation.summary!));
    const scope = operation['x-scope'];
    if (scope !== undefined) expect(part).toContain(`Scope of the key: <code>${scope}</code>`);
    for (const { name } of operation.parameters ?? []) expect(part).toContain(`<code>${name}</code>`);
    for (const [status, { description }] of Object.entries(operation.responses)) {
      expect(part).toContain(`>${status}</span>`);
      const codes = /^Problem: (.*)$/.exec(description)?.[1]?.split(', ') ?? [];
      for (const code of codes) expect(part).toContain(`<code>${code}</code>`);
    }
    expect(part).toContain(`${api.url}${path.split('{')[0]}`);
  }
});

test('every link within the page leads somewhere, and no id is there twice', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
  expect(new Set(ids).size).toBe(ids.length);
  const targets = new Set([...page.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target!));
  expect([...targets].filter((target) => !ids.includes(target))).toEqual([]);
  expect(targets.size).toBeGreaterThan(10);
});

test('nothing comes from elsewhere and nothing runs: its own policy allows its style alone', () => {
  expect(page).not.toMatch(/<(script|link|img|iframe|form)\b|\son\w+=|style="|@import|url\(/i);
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!;
  expect(policy).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`);
  expect(policy).toContain("default-src 'none'");
});

test('the lines to copy send a key where one is needed, and none where there is none', async () => {
  expect(page).toContain('authorization: Bearer $API_KEY');
  const keyless = await startTestApi({ sql: api.sql });
  const { text } = await keyless.call('GET', '/docs/api.html');
  expect(text).not.toContain('Bearer $API_KEY');
  await keyless.close();
});

test('a Host header cannot write into the page', async () => {
  const { text } = await api.call('GET', '/docs/api.html', { headers: { host: 'a"><b>.example' } }).catch(() => ({ text: '' }));
  expect(text).not.toContain('<b>.example');
});
