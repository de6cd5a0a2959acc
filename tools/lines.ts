/**
 * Counts the code lines and bytes of each room, and those of the core: everything that poller, notifier and judge import, directly or
 * not. A code line has code: no blank line, no comment, no import. `npm run lines`; `--json` for programs.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readImports, roomOf } from './rooms.ts';

const SRC = join(import.meta.dirname, '../src');
/** Where the core begins. */
const CORE = ['daemon/poller/poller.ts', 'daemon/notifier/notifier.ts', 'daemon/judge/judge.ts'];

export interface Count {
  readonly files: number;
  readonly lines: number;
  readonly bytes: number;
}

/** How many lines of a text are code. Comments stand on lines of their own or behind code, as the formatter leaves them. */
function codeLines(text: string): number {
  const isCode = (line: string): boolean => line !== '' && !line.startsWith('//');
  return text
    .replace(/^[ \t]*\/\*[\s\S]*?\*\/[ \t]*$/gm, '')
    .replace(/^import\b[^;]*;/gm, '')
    .split('\n')
    .filter((line) => isCode(line.trim())).length;
}

function countOf(files: readonly string[]): Count {
  const texts = files.map((file) => readFileSync(join(SRC, file), 'utf8'));
  return {
    files: files.length,
    lines: texts.reduce((sum, text) => sum + codeLines(text), 0),
    bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
  };
}

/** The files that some files import, directly or not, with these. */
export function reachedFrom(roots: readonly string[]): string[] {
  const imports = Map.groupBy(
    readImports().filter(({ isOurs }) => isOurs),
    ({ file }) => file,
  );
  const reached = new Set(roots);
  for (const file of reached) for (const { target } of imports.get(file) ?? []) reached.add(target);
  return [...reached].sort();
}

/** Counts of each room, of all rooms together (`src`), and of the core. */
export function countLines(): Readonly<Record<'src' | 'core', Count>> & { readonly rooms: ReadonlyMap<string, Count> } {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const rooms = Map.groupBy(files.sort(), (file) => (file.includes('/') ? roomOf(file) : 'src'));
  return {
    rooms: new Map([...rooms].map(([room, of]) => [room, countOf(of)])),
    src: countOf(files),
    core: countOf(reachedFrom(CORE)),
  };
}

if (import.meta.main) {
  const { rooms, src, core } = countLines();
  const rows: [string, Count][] = [...rooms, ['all of src', src], ['core', core]];
  if (process.argv.includes('--json')) console.log(JSON.stringify(Object.fromEntries(rows)));
  else console.table(Object.fromEntries(rows));
}
