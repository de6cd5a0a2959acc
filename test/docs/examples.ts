/** Every fenced block of the READMEs and docs, and what a comment in front of it says about running it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Example {
  readonly page: string;
  /** Of the fence, from 1. */
  readonly line: number;
  /** What the fence names; empty for diagrams and what a program prints. */
  readonly language: string;
  readonly text: string;
  /** Why it is not run, from `<!-- not run: … -->` in front of it. */
  readonly notRun: string | null;
}

/** Languages of pictures, which nothing runs. */
const DRAWINGS = ['mermaid'];

const FENCE = /^( *)```(\S*)[^\n]*\n([\s\S]*?)^ *```/gm;

/** All blocks of all pages but the decisions, page by page, in order. */
export function allExamples(): Example[] {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions'))
    .map((name) => `docs/${name}`);
  return ['README.md', ...pages.sort(), 'packages/client/README.md'].flatMap(examplesOf);
}

function examplesOf(page: string): Example[] {
  const source = readFileSync(join(ROOT, page), 'utf8');
  return [...source.matchAll(FENCE)].map((found) => {
    const [, indent, language, text] = found;
    const before = source.slice(0, found.index).trimEnd();
    return {
      page,
      line: source.slice(0, found.index).split('\n').length,
      language: DRAWINGS.includes(language!) ? '' : language!,
      text: text!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      notRun: /<!-- not run: ([^>]+) -->$/.exec(before)?.[1] ?? null,
    };
  });
}
