/** Which Markdown files become pages of the book, where each lies, and in which part of the index it stands. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const INDEX = 'docs/README.md';
/** Pages from outside of docs/, by their path in the book. */
const OF_PROJECT: ReadonlyMap<string, string> = new Map([
  ['CHANGELOG.md', 'project/changes.html'],
  ['CONTRIBUTING.md', 'project/contributing.html'],
  ['SECURITY.md', 'project/security.html'],
  ['bench/README.md', 'project/benches.html'],
]);
/** Pages for auditors and contributors: in the book, so that links lead there, but neither in its navigation nor in its search. */
const ASIDE = /^docs\/(?:schema|security|third-party|decisions\/.*)\.md$/;
/** What is copied from docs/ as it is. */
const COPIED = /\.(?:json|svg|webp)$/;

export interface Page {
  /** Path in the repository. */
  readonly source: string;
  /** Path in the book. */
  readonly path: string;
  readonly markdown: string;
  /** Whether the page is outside of navigation and search. */
  readonly isAside: boolean;
}

/** An entry of the index. */
export interface Entry {
  readonly title: string;
  /** Path in the book. */
  readonly path: string;
}

export interface Part {
  readonly title: string;
  /** Entries below each heading; those that stand directly below the part have an empty one. */
  readonly groups: readonly { readonly title: string; readonly entries: readonly Entry[] }[];
}

/** All files of docs/, as paths in the repository. */
const filesOfDocs = (): string[] =>
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join('docs', name))
    .toSorted();

/** Every page. */
export function readPages(): Page[] {
  const ofDocs = filesOfDocs()
    .filter((source) => source.endsWith('.md'))
    .map((source): [string, string] => [source, pathOfDocs(source)]);
  return [...ofDocs, ...OF_PROJECT].map(([source, path]) => ({
    source,
    path,
    markdown: readFileSync(join(ROOT, source), 'utf8'),
    isAside: ASIDE.test(source),
  }));
}

function pathOfDocs(source: string): string {
  return source
    .replace(/^docs\//, '')
    .replace(/README\.md$/, 'index.md')
    .replace(/\.md$/, '.html');
}

/** What is copied: path in the book by path in the repository. */
export function copiedFiles({ pictures }: { pictures: boolean }): Map<string, string> {
  const files = filesOfDocs().filter((source) => COPIED.test(source) && (pictures || !source.startsWith('docs/pictures/')));
  return new Map(files.map((source) => [source, source.replace(/^docs\//, '')]));
}

/**
 * Where a link of a page leads in the book, relative to that page; itself for another host's, null for a file that the book lacks.
 * `places` has the path in the book by the path in the repository.
 */
export function linkTarget(link: string, page: Page, places: ReadonlyMap<string, string>): string | null {
  if (/^(?:[a-z]+:|#)/.test(link)) return link;
  const [file = '', anchor] = link.split('#', 2);
  const place = places.get(posix.join(posix.dirname(page.source), file));
  if (place === undefined) return null;
  return relativePath(page.path, place) + (anchor === undefined ? '' : `#${anchor}`);
}

/** The way from one page of the book to a file of it. */
export function relativePath(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to);
}

/** The parts of the index page, for the navigation, with the pages that belong there. */
export function readParts(pages: readonly Page[], places: ReadonlyMap<string, string>): Part[] {
  const index = pages.find(({ source }) => source === INDEX)!;
  const asides = new Set(pages.filter(({ isAside }) => isAside).map(({ path }) => path));
  const blocks = (text: string, mark: string): { title: string; text: string }[] =>
    text
      .split(new RegExp(`^${mark} `, 'm'))
      .slice(1)
      .map((block) => ({ title: block.slice(0, block.indexOf('\n')), text: block.slice(block.indexOf('\n')) }));
  const entries = (text: string): Entry[] =>
    [...text.matchAll(/^- \[([^\]]+)\]\(([^)]+)\)/gm)].flatMap(([, title, link]) => {
      const path = linkTarget(link!, index, places);
      return path === null || !path.endsWith('.html') || asides.has(path) ? [] : [{ title: title!, path }];
    });
  return blocks(index.markdown, '##').map(({ title, text }) => {
    const direct = entries(text.split(/^### /m, 1)[0]!);
    const groups = blocks(text, '###').map((group) => ({ title: group.title, entries: entries(group.text) }));
    return { title, groups: [...(direct.length > 0 ? [{ title: '', entries: direct }] : []), ...groups] };
  });
}
