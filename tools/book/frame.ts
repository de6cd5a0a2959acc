/** What every page of the book has around its text: head with the search, navigation by the parts of the index, ways on. */
import { html, raw } from 'hono/html';
import type { Rendered, Section } from './markdown.ts';
import { type Entry, type Page, type Part, relativePath } from './pages.ts';

type Html = ReturnType<typeof html>;

/** Headings of a long page are listed in front of its text. */
const LISTED_FROM = 4;

/** A whole document. Every address is relative, so the book works below any path. */
export function documentOf(page: Page, { title, html: body, sections }: Rendered, parts: readonly Part[]): Html {
  const to = (path: string): string => relativePath(page.path, path) || '.';
  const head = body.indexOf('</h1>') + '</h1>'.length;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · purchase-watch</title>
<link rel="icon" href="${to('assets/icon.svg')}">
<link rel="stylesheet" href="${to('assets/book.css')}">
<script src="${to('assets/book.js')}" defer></script>
</head>
<body data-root="${to('.')}">
<a class="skip" href="#main">To the content</a>
<header><a class="brand" href="${to('index.html')}">purchase-watch</a>
<form class="find" role="search" hidden><label class="vh" for="find">Search the documentation</label><input id="find" type="search" placeholder="Search" autocomplete="off" maxlength="100"><kbd aria-hidden="true">/</kbd></form></header>
<div id="found" role="region" aria-label="Search results" aria-live="polite" hidden></div>
<div class="columns">
<nav aria-label="Documentation"><details open><summary>Contents</summary>${parts.map((part) => partOf(part, page, to))}</details></nav>
<main id="main" tabindex="-1">${raw(body.slice(0, head))}${listOf(sections)}${raw(body.slice(head))}
${waysOn(page, parts, to)}
</main>
</div>
</body>
</html>
`;
}

function partOf({ title, groups }: Part, page: Page, to: (path: string) => string): Html {
  const entry = ({ title: words, path }: Entry): Html =>
    html`<li><a href="${to(path)}"${path === page.path ? raw(' aria-current="page"') : ''}>${words}</a></li>`;
  return html`<h2>${title}</h2>${groups.map((group) => html`${group.title === '' ? '' : html`<h3>${group.title}</h3>`}<ul>${group.entries.map(entry)}</ul>`)}`;
}

function listOf(sections: readonly Section[]): Html | string {
  const below = sections.filter(({ level }) => level === 2);
  if (below.length < LISTED_FROM) return '';
  return html`<details class="list"><summary>On this page</summary><ul>${below.map(({ id, heading }) => html`<li><a href="#${id}">${heading}</a></li>`)}</ul></details>`;
}

/** The pages before and after this one, in the order of the index. */
function waysOn(page: Page, parts: readonly Part[], to: (path: string) => string): Html | string {
  const all = parts.flatMap(({ groups }) => groups.flatMap(({ entries }) => entries));
  const at = all.findIndex(({ path }) => path === page.path);
  if (at < 0) return '';
  const way = (entry: Entry | undefined, rel: string, word: string): Html | string =>
    entry === undefined ? '' : html`<a rel="${rel}" href="${to(entry.path)}"><span>${word}</span> ${entry.title}</a>`;
  return html`<footer>${way(all[at - 1], 'prev', 'Before:')}${way(all[at + 1], 'next', 'Next:')}</footer>`;
}
