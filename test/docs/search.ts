/** The search of a built book, as a reader's browser runs it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';

interface Found {
  readonly address: string;
  readonly heading: string;
  readonly text: string;
}

/** Returns the search of the book in a folder: sections, the best first. */
export function searchIn(folder: string): (query: string) => Found[] {
  const scripts = ['minisearch.js', 'search.js', 'sections.js'].map((name) => readFileSync(join(folder, 'assets', name), 'utf8'));
  return runInNewContext(`${scripts.join(';\n')};\nglobalThis.searchOf(globalThis.MiniSearch, globalThis.sections)`, {});
}
