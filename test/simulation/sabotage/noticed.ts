/** What noticed each guard that was taken out, as it is kept in `noticed.json`, and the table of it in docs/proof.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUARDS } from './guards.ts';

/** What shows that a guard is missing: the world of a seed, that of a plan made for it (`plans.ts`), or a test of the suite. */
export type Way = { readonly seed: number } | { readonly plan: string } | { readonly test: string };

export interface Noticed {
  readonly way: Way;
  /** The first problem of the world, or the name of the test that fails. */
  readonly problem?: string;
  /** Why no world shows it. */
  readonly why?: string;
}

const FILE = join(import.meta.dirname, 'noticed.json');
const PAGE = join(import.meta.dirname, '../../../docs/proof.md');
const [BEGIN, END] = ['<!-- made by `npm run sabotage -- --write` -->', '<!-- end -->'];

export const readNoticed = (): Readonly<Record<string, Noticed>> => JSON.parse(readFileSync(FILE, 'utf8'));

/** Keeps what was found, and writes the table anew. */
export function keep(found: Readonly<Record<string, Noticed>>): void {
  const all = { ...readNoticed(), ...found };
  const kept = GUARDS.filter(({ name }) => name in all).map(({ name }) => [name, all[name]]);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(PAGE, `${page.slice(0, page.indexOf(BEGIN) + BEGIN.length)}\n\n${table()}\n\n${page.slice(page.indexOf(END))}`);
}

const KINDS = [
  ['seed', 'the world of a drawn seed'],
  ['plan', 'the world of a plan made for it'],
  ['test', 'a test of the suite'],
] as const;

/** A row for each guard, and how many of them are noticed by what. */
export function table(): string {
  const noticed = readNoticed();
  const all = Object.values(noticed);
  const counts = KINDS.map(([kind, words]) => [all.filter(({ way }) => kind in way).length, words] as const);
  const rows = GUARDS.map(({ name, promise }) => `| ${name} | ${promise} | ${shown(noticed[name])} |`);
  return [
    `Of ${GUARDS.length} guards that are taken out one at a time, ${counts
      .filter(([count]) => count > 0)
      .map(([count, words]) => `${count} are noticed by ${words}`)
      .join(', ')}.`,
    '',
    '| guard taken out | promise that falls | noticed by |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}

function shown(noticed: Noticed | undefined): string {
  if (noticed === undefined) return 'nothing yet';
  const { way, why } = noticed;
  if ('seed' in way) return `seed ${way.seed}`;
  if ('plan' in way) return `plan \`${way.plan}\``;
  return `\`${way.test.replace('test/', '').replace('.test.ts', '')}\`${why === undefined ? '' : `: ${why}`}`;
}
