/**
 * Counts the code lines and bytes of each room, and those of the core: everything that poller, notifier and judge import, directly or
 * not. A code line has code: no blank line, no comment, no import. `npm run lines`; `--json` for programs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readImports, roomOf, sourceFiles } from './rooms.ts';

const ROOT = join(import.meta.dirname, '..');
/** Where the core begins. */
const CORE = ['src/daemon/poller/poller.ts', 'src/daemon/notifier/notifier.ts', 'src/daemon/judge/judge.ts'];

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
  const texts = files.map((file) => readFileSync(join(ROOT, file), 'utf8'));
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

/** Counts of each room, of `src`, of the packages, of both together (`all`), and of the core. */
export function countLines() {
  const files = sourceFiles().sort();
  const rooms = Map.groupBy(files, (file) => (roomOf(file).endsWith('.ts') ? 'files of src' : roomOf(file)));
  return {
    rooms: new Map([...rooms].map(([room, of]) => [room, countOf(of)])),
    src: countOf(files.filter((file) => file.startsWith('src/'))),
    packages: countOf(files.filter((file) => file.startsWith('packages/'))),
    all: countOf(files),
    core: countOf(reachedFrom(CORE)),
  };
}

if (import.meta.main) {
  const { rooms, ...sums } = countLines();
  const rows: [string, Count][] = [...rooms, ...Object.entries(sums)];
  if (process.argv.includes('--json')) console.log(JSON.stringify(Object.fromEntries(rows)));
  else console.table(Object.fromEntries(rows));
}
