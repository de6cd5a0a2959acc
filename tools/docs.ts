/**
 * The docs as a book, which is a static web site with a search: run by itself it writes book/, which the package holds and the daemon serves at /docs/.
 * `--for-package` leaves out the pictures of the console, which are large.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OpenApiDocument } from './book/api/model.ts';
import { apiPage } from './book/api/page.ts';
import { documentOf } from './book/frame.ts';
import { type Rendered, render } from './book/markdown.ts';
import { copiedFiles, type Page, readPages, readParts } from './book/pages.ts';
import { WORDS } from './book/words.ts';
import { openApiDocument } from './client-types.ts';

const ROOT = join(import.meta.dirname, '..');

/** Writes the book into a folder, which is emptied first. Throws an Error for a link to a page that is missing. */
export async function buildBook(folder: string, { forPackage }: { forPackage: boolean }): Promise<void> {
  const pictures = !forPackage;
  rmSync(folder, { recursive: true, force: true });
  const write = (path: string, text: string | Buffer): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const pages = readPages();
  const copied = copiedFiles({ pictures });
  const places = new Map([...pages.map(({ source, path }): [string, string] => [source, path]), ...copied]);
  const parts = readParts(pages, places);
  const document = await openApiDocument();
  const rendered = pages.map((page): [Page, Rendered] => [page, render(page, { places, pictures })]);
  for (const [page, content] of rendered) write(page.path, String(await documentOf(page, content, parts)));
  for (const [source, path] of copied) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(join(ROOT, source), join(folder, path));
  }
  const api: Page = { source: 'openapi.json', path: 'api.html', markdown: '', isAside: false };
  write(api.path, String(await documentOf(api, apiPage(document), parts)));
  writeAssets(write, [
    ...rendered.flatMap(([page, content]) => (page.isAside ? [] : entriesOf(page, content))),
    ...callsOf(document),
  ]);
}

/** What the search finds: address, title of the page, heading, text, words that people type for it. */
type SearchEntry = readonly [address: string, title: string, heading: string, text: string, words?: string];

function entriesOf({ path }: Page, { title, sections }: Rendered): SearchEntry[] {
  return sections.map(({ id, heading, level, text }): SearchEntry => {
    const words = WORDS[`#${id}`] ?? WORDS[`${path}#${id}`];
    const entry = [level === 1 ? path : `${path}#${id}`, title, heading, text] as const;
    return words === undefined ? entry : [...entry, words];
  });
}

function callsOf({ paths }: OpenApiDocument): SearchEntry[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId, summary = '', description = '' }]): SearchEntry => {
      return [`api.html#${operationId}`, 'HTTP API', summary, `${method.toUpperCase()} ${path} ${description}`];
    }),
  );
}

function writeAssets(write: (path: string, text: string | Buffer) => void, entries: readonly SearchEntry[]): void {
  const own = (path: string): Buffer => readFileSync(join(ROOT, path));
  write('assets/book.css', Buffer.concat([own('assets/tokens.css'), own('tools/book/book.css')]));
  for (const name of ['book.js', 'search.js']) write(`assets/${name}`, own(`tools/book/${name}`));
  write('assets/icon.svg', own('assets/icon.svg'));
  write('assets/sections.js', `globalThis.sections = ${JSON.stringify(entries)};\n`);
  const library = dirname(dirname(dirname(fileURLToPath(import.meta.resolve('minisearch')))));
  const licence = readFileSync(join(library, 'LICENSE.txt'), 'utf8');
  const code = readFileSync(join(library, 'dist/umd/index.js'), 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
  write('assets/minisearch.js', `/*! MiniSearch\n${licence}*/\n${code}`);
}

if (import.meta.main) {
  const forPackage = process.argv.includes('--for-package');
  await buildBook(join(ROOT, 'book'), { forPackage });
  // Of a pack, the output is the name of the archive.
  if (!forPackage) process.stdout.write('wrote book/; the next start of a daemon serves it at /docs/\n');
}
