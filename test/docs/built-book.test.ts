/** The book that `npm run docs` builds: whole, without a foreign address, and quick to search. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CAUSES } from '../../src/domain/incidents/causes.ts';
import { buildBook } from '../../tools/docs.ts';
import { startTestApi, type TestApi } from '../api/api.ts';
import { searchIn } from './search.ts';

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-book-'));
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
let pages: string[];
beforeAll(async () => {
  await buildBook(folder, { forPackage: false });
  pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const addresses = (page: string): string[] =>
  [...read(page).matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)].map(([, address]) => address!.replaceAll('&amp;', '&'));

test('every page of docs/ is in it, and every page can be reached from the contents', () => {
  const sources = readdirSync(join(import.meta.dirname, '../../docs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  expect(pages.length).toBeGreaterThan(sources.length);
  for (const page of pages.filter((name) => name !== 'api.html'))
    expect(read(page), page).toContain('<nav aria-label="Documentation">');
});

test('pages for auditors and contributors are linked from the index, and are neither in the contents nor in the search', () => {
  const [, nav = ''] = /<nav [^>]*>([\s\S]*?)<\/nav>/.exec(read('index.html')) ?? [];
  const [, main = ''] = /<main [^>]*>([\s\S]*)<\/main>/.exec(read('index.html')) ?? [];
  const sections = read('assets/sections.js');
  for (const page of ['schema.html', 'security.html', 'third-party.html', 'decisions/index.html']) {
    expect(main).toContain(`href="${page}"`);
    expect(nav).not.toContain(`href="${page}"`);
    expect(sections).not.toContain(`"${page}`);
  }
  expect(sections).not.toContain('"decisions/0');
  for (const page of ['errors.html', 'sql.html']) expect(nav).toContain(`href="${page}"`);
});

test('every address in it leads to a file of it, and every anchor to a heading', () => {
  const broken = pages
    .filter((page) => page !== 'api.html')
    .flatMap((page) =>
      addresses(page)
        .filter((address) => !/^https?:/.test(address))
        .filter((address) => {
          const [path = '', anchor] = address.split('#', 2);
          const target = path === '' ? page : join(dirname(page), path);
          if (!existsSync(join(folder, target))) return true;
          return anchor !== undefined && anchor !== 'main' && !read(target).includes(` id="${anchor}"`);
        })
        .map((address) => `${page}: ${address}`),
    );
  expect(broken).toEqual([]);
});

test('it has the places to which messages link', () => {
  for (const { anchor } of Object.values(CAUSES)) expect(read('alerts.html')).toContain(` id="${anchor}"`);
});

test('it loads nothing from elsewhere and holds no inline script or style', () => {
  for (const page of pages.filter((name) => name !== 'api.html')) {
    expect(read(page), page).not.toMatch(/<(?:script|img|link|source)\b[^>]*(?:src|href|srcset)="(?:https?:)?\/\//);
    expect(read(page), page).not.toMatch(/<script(?! src=)|<style|\sstyle="|\son\w+="/);
  }
});

test('the search finds a setting, a code, a command and a call', () => {
  const found = (query: string): string[] =>
    searchIn(folder)(query)
      .slice(0, 12)
      .map(({ address }) => address);
  expect(found('WEBHOOK_SECRET').some((address) => address.startsWith('configuration.html'))).toBe(true);
  expect(found('idempotency_key_reused').some((address) => address.startsWith('errors.html'))).toBe(true);
  expect(found('subscribers add')).toContain('commands.html#subscribers-add');
  expect(found('watch batch')).toContain('api.html#createPurchasesBatch');
});

test('for the package it has no pictures, and says in words what they show', async () => {
  const small = mkdtempSync(join(tmpdir(), 'purchase-watch-book-'));
  try {
    await buildBook(small, { forPackage: true });
    expect(existsSync(join(small, 'pictures'))).toBe(false);
    const page = readFileSync(join(small, 'console.html'), 'utf8');
    expect(page).not.toContain('<img');
    expect(page).toContain('Picture: ');
  } finally {
    rmSync(small, { recursive: true });
  }
});

test('a daemon serves it at /docs/, without a key, under a policy that lets nothing else in', async () => {
  const api: TestApi = await startTestApi({ apiKey: 's'.repeat(20), book: folder });
  try {
    const redirect = await fetch(`${api.url}/docs`, { redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'docs/']);
    const index = await api.call('GET', '/docs/');
    expect(index.status).toBe(200);
    expect(index.text).toContain('From nothing to the first incident');
    expect(index.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(index.headers.get('x-content-type-options')).toBe('nosniff');
    expect((await api.call('GET', '/docs/assets/book.js')).headers.get('content-type')).toMatch(/^text\/javascript/);
    expect((await api.call('GET', '/docs/decisions/')).text).toContain('Decisions');
    const missing = await api.call('GET', '/docs/nope.html');
    expect([missing.status, missing.body.code]).toEqual([404, 'not_found']);
    for (const path of ['/docs/..%2f..%2fpackage.json', '/docs/%2e%2e/%2e%2e/package.json', '/docs//etc/passwd']) {
      expect((await api.call('GET', path)).status, path).toBeGreaterThanOrEqual(400);
    }
    expect((await api.call('GET', '/docs/api.html')).text).toContain('HTTP API');
  } finally {
    await api.stop();
  }
});

test('where it is not built, /docs/ says how to build it', async () => {
  const api = await startTestApi({ book: join(folder, 'nowhere') });
  try {
    const answer = await api.call('GET', '/docs/');
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('npm run docs');
    // Where a message of Slack leads.
    const page = await api.call('GET', '/docs/alerts.html');
    expect([page.status, page.text]).toEqual([404, answer.text]);
  } finally {
    await api.stop();
  }
});
