/**
 * `npm run mutate -- src/domain/deciding` makes one small change after another to the code of folders or files, and runs the tests
 * that reach each change. It fails where no test notices a change that test/mutation/survivors.json does not list with a reason, and
 * where a test now notices one that is listed. With `--write` it writes the list anew: each new entry lacks its reason. A change
 * that an earlier run noticed is taken from that run while neither the code nor that test has changed, unless `--again` is given.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { installOwnPackages } from '../../tools/own-packages.ts';
import { LIST, ROOT, readSurvivors, type Survivor } from './survivors.ts';

/** What Stryker writes of a change, as far as it is read here: https://github.com/stryker-mutator/mutation-testing-elements. */
interface Mutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  /** Lines and columns from 1. */
  readonly location: { readonly start: Place; readonly end: Place };
}
interface Place {
  readonly line: number;
  readonly column: number;
}
interface Results {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

/** As stryker.json names it. */
const RESULTS = join(ROOT, 'node_modules/.cache/mutation.json');
const STRYKER = join(import.meta.dirname, 'node_modules/@stryker-mutator/core/bin/stryker.js');
/** How much of a change the list shows, in characters. */
const MOST_SHOWN = 160;
/** Tests ran and passed, or no test reaches the code. */
const UNNOTICED: readonly string[] = ['Survived', 'NoCoverage'];

const { positionals, values: flags } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean' }, again: { type: 'boolean' } },
});
const paths = positionals.map((path) => path.replace(/\/$/, ''));
const wrong = paths.find((path) => !/^src\/(?:domain|daemon)\//.test(path) || !existsSync(join(ROOT, path)));
if (paths.length === 0 || wrong !== undefined) {
  console.error(
    `${wrong ?? 'nothing'} is no folder or file of src/domain or src/daemon; write for example: npm run mutate -- src/domain/deciding`,
  );
  process.exit(2);
}
installOwnPackages(import.meta.dirname, console.log);
// Others may use the machine: a run takes all of one core for minutes.
setPriority(19);
const started = performance.now();
forgetUnnoticed();
// Every test of the domain reaches a table or a constant, and to run all of them for each takes hours: so first those of the folder
// judge. What they miss of code that runs within tests, all tests of the domain judge again.
for (const path of paths) change([path], `test/${folderOf(path).slice('src/'.length)}`);
const ofDomain = paths.filter((path) => path.startsWith('src/domain/'));
if (ofDomain.length > 0) change(ofDomain, 'test/domain');

const { files } = readResults();
const listed = readSurvivors();
let differences = 0;
const counts = new Map<string, { all: number; noticed: number }>();
// Results of earlier runs, which the file keeps, come with those of this run.
for (const file of Object.keys(files).filter((name) => paths.some((path) => isIn(path, name)))) {
  const { source, mutants } = files[file]!;
  const tried = mutants.filter(({ status }) => ['Killed', 'Timeout', ...UNNOTICED].includes(status));
  const unnoticed = tried.filter(({ status }) => UNNOTICED.includes(status));
  const count = counts.get(dirname(file)) ?? { all: 0, noticed: 0 };
  counts.set(dirname(file), {
    all: count.all + tried.length,
    noticed: count.noticed + tried.length - unnoticed.length,
  });
  const before = listed[file] ?? [];
  const now = unnoticed.map((mutant) => survivorOf(source, mutant));
  const added = now.filter((each) => !before.some((other) => isSame(each, other)));
  const gone = before.filter((each) => !now.some((other) => isSame(each, other)));
  differences += added.length + gone.length;
  for (const { line, mutant } of added) console.log(`${file}: no test notices ${mutant}\n    in ${line}`);
  for (const { line, mutant } of gone)
    console.log(`${file}: take from the list, a test notices it or it is gone: ${mutant}\n    in ${line}`);
  const kept = before.filter((each) => !gone.includes(each));
  listed[file] = [...kept, ...added.filter((each, at) => added.findIndex((other) => isSame(each, other)) === at)];
  if (listed[file].length === 0) delete listed[file];
}
if (flags.write === true) {
  const inOrder = Object.fromEntries(Object.entries(listed).sort(([one], [other]) => (one < other ? -1 : 1)));
  writeFileSync(LIST, `${JSON.stringify(inOrder, null, 2)}\n`);
}
for (const [folder, { all, noticed }] of counts) {
  console.log(`| ${folder} | ${all} | ${noticed} | ${((100 * noticed) / all).toFixed(1)} % |`);
}
console.log(`${((performance.now() - started) / 60_000).toFixed(1)} minutes`);
process.exitCode = differences === 0 || flags.write === true ? 0 : 1;

function readResults(): Results {
  return JSON.parse(readFileSync(RESULTS, 'utf8')) as Results;
}

/** What no test noticed is tried again: Stryker would repeat that of a table or a constant whatever tests there are by now. */
function forgetUnnoticed(): void {
  if (!existsSync(RESULTS)) return;
  const results = readResults();
  for (const [file, { mutants }] of Object.entries(results.files))
    if (paths.some((path) => isIn(path, file)))
      Object.assign(results.files[file]!, { mutants: mutants.filter(({ status }) => !UNNOTICED.includes(status)) });
  writeFileSync(RESULTS, JSON.stringify(results));
}

/** Has Stryker change the code of folders or files, and judge by the tests of a folder; results go to its incremental file. */
function change(code: readonly string[], tests: string): void {
  const globs = code.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.ts`));
  const again = flags.again === true && tests !== 'test/domain' ? ['--force'] : [];
  execFileSync(
    process.execPath,
    [STRYKER, 'run', join(import.meta.dirname, 'stryker.json'), '--mutate', globs.join(','), ...again],
    { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, MUTATION_TESTS: tests } },
  );
}

function folderOf(path: string): string {
  return path.endsWith('.ts') ? dirname(path) : path;
}

function isIn(path: string, file: string): boolean {
  return file === path || file.startsWith(`${path}/`);
}

/** Names a change without its line number, which moves with each edit above it. */
function survivorOf(source: string, { location: { start, end }, mutatorName, replacement = '' }: Mutant): Survivor {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const line = lines[0]!.trim();
  lines.push(lines.pop()!.slice(0, end.column - 1));
  const original = [lines.shift()!.slice(start.column - 1), ...lines].join('\n');
  return { line, mutant: `${mutatorName}: ${shown(original)} → ${shown(replacement)}`, reason: '' };
}

function shown(code: string): string {
  const text = code.replaceAll(/\s+/g, ' ');
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

function isSame(one: Survivor, other: Survivor): boolean {
  return one.line === other.line && one.mutant === other.mutant;
}
