/**
 * `npm run mutate -- src/domain/deciding` makes one small change after another to the code of folders or files, and runs the tests
 * that reach each change. It fails where no test notices a change that test/mutation/survivors.json does not list with a reason, and
 * where a test now notices one that is listed. With `--write` it writes the list anew: each new entry lacks its reason.
 */
import { appendFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { BaseSequencer, startVitest, type TestSpecification } from 'vitest/node';
import { installOwnPackages } from '../../tools/own-packages.ts';
import { type Progress, readLog } from './progress.ts';
import { LIST, ROOT, readSurvivors, type Survivor } from './survivors.ts';
import { WORDS } from './words.ts';

/** A change, as far as it is read here. Lines and columns count from 0. */
interface Mutant {
  readonly id: string;
  /** Path of the file. */
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  /** `Ignored`, or nothing. */
  readonly status?: string;
  readonly location: { readonly start: Place; readonly end: Place };
}
interface Place {
  readonly line: number;
  readonly column: number;
}
interface Source {
  readonly name: string;
  readonly content: string;
  readonly mutate: boolean;
}
/** The part of @stryker-mutator/instrumenter that is used: the package is there only once this command has installed it. */
interface Instrumenting {
  readonly Instrumenter: new (
    logger: unknown,
  ) => {
    instrument(
      sources: readonly Source[],
      options: { plugins: null; excludedMutations: readonly string[]; ignorers: readonly unknown[] },
    ): Promise<{ files: readonly Source[]; mutants: readonly Mutant[] }>;
  };
}

const INSTRUMENTER = join(import.meta.dirname, 'node_modules/@stryker-mutator/instrumenter/dist/src/index.js');
/** How much of a change the list shows, in characters. */
const MOST_SHOWN = 160;
/** Milliseconds that one change may take with one test file; a loop without end takes longer. */
const MOST_FOR_CHANGE = 60_000;

const { positionals, values: flags } = parseArgs({ allowPositionals: true, options: { write: { type: 'boolean' } } });
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
const { Instrumenter } = (await import(INSTRUMENTER)) as Instrumenting;
const listed = readSurvivors();
let differences = 0;
const summary: string[] = [];
for (const [folder, within] of Map.groupBy(paths, folderOf)) await go(folder, within);
if (flags.write === true) {
  const sorted = Object.fromEntries(Object.entries(listed).sort(([one], [other]) => (one < other ? -1 : 1)));
  writeFileSync(LIST, `${JSON.stringify(sorted, null, 2)}\n`);
}
for (const line of summary) console.log(line);
process.exitCode = differences === 0 || flags.write === true ? 0 : 1;

/** Tries all changes of a folder, or of some files in it, and compares those that no test notices with the list. */
async function go(folder: string, within: readonly string[]): Promise<void> {
  const started = performance.now();
  const names = within.flatMap((path) => (path.endsWith('.ts') ? [join(ROOT, path)] : filesOf(path)));
  const sources = names.map((name) => ({ name, content: readFileSync(name, 'utf8'), mutate: true }));
  const logger = { debug: () => undefined, info: () => undefined, isDebugEnabled: () => false };
  const options = { plugins: null, excludedMutations: [], ignorers: [WORDS] };
  const { files, mutants } = await new Instrumenter(logger).instrument(sources, options);
  const tried = mutants.filter(({ status }) => status === undefined);
  const log = await judge(folder, files, tried);
  const noticed = new Set(log.flatMap((line) => (line.is === 'noticed' ? [line.change] : [])));
  for (const { name, content } of sources) {
    const mutants = tried.filter(({ fileName }) => fileName === name);
    const unnoticed = mutants.filter(({ id }) => !noticed.has(id)).map((mutant) => survivorOf(content, mutant));
    const file = name.slice(ROOT.length + 1);
    console.log(`${file}: ${mutants.length} changes, ${unnoticed.length} unnoticed`);
    compare(file, unnoticed);
  }
  const score = ((100 * noticed.size) / tried.length).toFixed(1);
  const minutes = ((performance.now() - started) / 60_000).toFixed(1);
  summary.push(`| ${folder} | ${tried.length} | ${noticed.size} | ${score} % | ${minutes} minutes |`);
}

/** Has vitest run the tests with changed code, in one process, and in another one when that one died. Answers what they wrote. */
async function judge(folder: string, files: readonly Source[], changes: readonly Mutant[]): Promise<readonly Progress[]> {
  const place = mkdtempSync(join(tmpdir(), 'mutation-'));
  const log = join(place, 'log');
  writeFileSync(log, '');
  const changed = new Map(files.map(({ name, content }) => [name, content]));
  const own = filesOf(`test/${folder.slice('src/'.length)}`, '.test.ts');
  const all = folder.startsWith('src/domain/') ? filesOf('test/domain', '.test.ts') : [];
  const mirrors = files.map(({ name }) => name.replace(`${ROOT}/src/`, `${ROOT}/test/`).replace(/ts$/, 'test.ts'));
  // Most changes are noticed by the first of them: so those that tell most, and need no database.
  const needsDatabase = (test: string): number =>
    Number(/testDatabase|start(?:Channels|TestApp)/.test(readFileSync(test, 'utf8')));
  const isOther = (test: string): number => Number(!mirrors.includes(test));
  const tests = [...new Set([...own.toSorted((a, b) => needsDatabase(a) - needsDatabase(b) || isOther(a) - isOther(b)), ...all])];
  const watch = setInterval(() => endEndless(log), MOST_FOR_CHANGE / 10).unref();
  let lines: readonly Progress[] = [];
  for (let left = tests; left.length > 0; ) {
    const before = lines.length;
    const vitest = await startVitest(
      'test',
      left,
      {
        config: join(import.meta.dirname, 'vitest.config.ts'),
        watch: false,
        sequence: { sequencer: inOrder(tests) },
        include: left.map((test) => test.slice(ROOT.length + 1)),
        ...(folder.startsWith('src/daemon/') && { globalSetup: ['test/support/global-setup.ts'] }),
        provide: { mutation: { log, changes: changes.map(({ id, fileName }) => ({ id, file: fileName })), reloading: own } },
      },
      { plugins: [{ name: 'mutation', enforce: 'pre', load: (id: string) => changed.get(id) }] },
    );
    await vitest.close();
    lines = readLog(log);
    left = left.filter((test) => !lines.some((line) => line.is === 'done' && line.test === test));
    const wrong = lines.find((line) => line.is === 'wrong');
    if (wrong !== undefined) throw new Error(`${wrong.test}: ${wrong.name} fails without a change`);
    if (lines.length === before) throw new Error(`no test ran: ${left.join(', ')}`);
  }
  clearInterval(watch);
  rmSync(place, { recursive: true });
  for (const line of lines) if (line.is === 'slow') console.log(`${line.test}: too slow to judge: ${line.name}`);
  return lines;
}

/** Has vitest run test files in an order. */
function inOrder(tests: readonly string[]): typeof BaseSequencer {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return files.toSorted((one, other) => tests.indexOf(one.moduleId) - tests.indexOf(other.moduleId));
    }
  };
}

/** Ends the process that runs tests when it has tried one change for too long. What runs without end counts as noticed. */
function endEndless(log: string): void {
  if (Date.now() - statSync(log).mtimeMs < MOST_FOR_CHANGE) return;
  const lines = readLog(log);
  const last = lines.at(-1);
  const begun = lines.findLast((line) => line.is === 'begun');
  if (last?.is !== 'trying' || begun === undefined) return;
  appendFileSync(log, `${JSON.stringify({ ...last, is: 'noticed' } satisfies Progress)}\n`);
  process.kill(begun.pid, 'SIGKILL');
}

/** Says how the changes of a file that no test notices differ from the list, and changes the list. */
function compare(file: string, now: readonly Survivor[]): void {
  const before = listed[file] ?? [];
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

function folderOf(path: string): string {
  return path.endsWith('.ts') ? dirname(path) : path;
}

/** Paths of the files in a folder of the repository and in those below it. */
function filesOf(folder: string, end = '.ts'): readonly string[] {
  return globSync(`${folder}/**/*${end}`, { cwd: ROOT, exclude: ['**/*.long.test.ts'] })
    .sort()
    .map((file) => join(ROOT, file));
}

/** Names a change without its line number, which moves with each edit above it. */
function survivorOf(source: string, { location: { start, end }, mutatorName, replacement }: Mutant): Survivor {
  const lines = source.split('\n').slice(start.line, end.line + 1);
  const line = lines[0]!.trim();
  lines.push(lines.pop()!.slice(0, end.column));
  const original = [lines.shift()!.slice(start.column), ...lines].join('\n');
  return { line, mutant: `${mutatorName}: ${shown(original)} → ${shown(replacement)}`, reason: '' };
}

function shown(code: string): string {
  const text = code.replaceAll(/\s+/g, ' ');
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

function isSame(one: Survivor, other: Survivor): boolean {
  return one.line === other.line && one.mutant === other.mutant;
}
