/** The page of the book that describes each call: complete, and each link within it leads somewhere. */
import { expect, test } from 'vitest';
import type { Operation } from '../../tools/book/api/model.ts';
import { apiPage } from '../../tools/book/api/page.ts';
import { openApiDocument } from '../../tools/client-types.ts';

const document = await openApiDocument();
const page = apiPage(document).html;

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
    expect(part).toContain(`http://127.0.0.1:8080${path.split('{')[0]}`);
  }
});

test('every link within the page leads somewhere, and no id is there twice', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!);
  expect(new Set(ids).size).toBe(ids.length);
  const targets = new Set([...page.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target!));
  expect([...targets].filter((target) => !ids.includes(target))).toEqual([]);
  expect(targets.size).toBeGreaterThan(10);
});

test('it needs no script and no style of its own, which the policy of the book would refuse', () => {
  expect(page).not.toMatch(/<(script|link|img|iframe|form|style)\b|\son\w+=|style="|@import|url\(/i);
  expect(page).toContain('authorization: Bearer $API_KEY');
});
