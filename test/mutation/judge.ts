/**
 * Runs each test file again and again in one process, each time with another change to the code switched on. Stryker's instrumenter
 * has put all changes into the code, each behind a switch; vitest makes this runner and gives it one test file after another.
 */
import { appendFileSync } from 'node:fs';
import { type RunnerTask, type RunnerTestFile, TestRunner, vi } from 'vitest';
import { startTests } from 'vitest/internal/browser';
import { type Progress, readLog, type Work } from './progress.ts';

/** Milliseconds. */
const SLOW = 2_000;
/** Milliseconds. A change makes a test wait for what never comes. */
const MOST_FOR_TEST = 6_000;
/** A loop without end runs changed code in one test so often, and so many times as often as without the change. */
const MOST_RUNS = { atLeast: 10_000, timesAsOften: 100 };

type Counts = Record<string, number>;
/** How often the code of a change may run in a test of this id, or while modules are loaded. */
type MostRuns = (test?: string) => number;
/** The instrumenter's code reads and writes it, under a global name of its own. */
const switches = {
  activeMutant: undefined as string | undefined,
  currentTestId: undefined as string | undefined,
  hitCount: 0,
  hitLimit: 0,
  /** How often the code of each change ran: while modules were loaded, and in each test. */
  mutantCoverage: { static: {} as Counts, perTest: {} as Record<string, Counts> },
};
Object.assign(globalThis, { __stryker__: switches });

const noticed = new Set<string>();
/** Changes that a test file of this run has missed, each as `pair` writes it. */
const missed = new Set<string>();
/** How often a process ended while a test file tried a change, by their pair. */
const ended = new Map<string, number>();
/** Changes to what is computed while modules are loaded. */
const loaded = new Set<string>();
/** Whether a test has failed in this process, and may have left something behind. */
let isFresh = true;

function pair(change: string, test: string): string {
  return `${change} ${test}`;
}

/** Names the test that runs to the code that counts. */
class Counting extends TestRunner {
  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(test);
    if (test.mode === 'run' || test.mode === 'queued') switches.currentTestId = test.id;
  }

  override onAfterRunTask(test: RunnerTask): void {
    super.onAfterRunTask(test);
    switches.currentTestId = undefined;
  }
}

/** One run of a file, of which vitest's main process hears nothing. It ends with the first test that fails. */
class Run extends Counting {
  readonly results = new Map<string, { readonly name: string; readonly milliseconds: number }>();
  #failed: string | undefined;
  readonly #only: readonly string[] | undefined;
  readonly #mostRuns: MostRuns | undefined;

  constructor(judge: Judge, only?: readonly string[], mostRuns?: MostRuns) {
    super(only === undefined ? judge.config : { ...judge.config, testTimeout: MOST_FOR_TEST });
    this.#only = only;
    this.#mostRuns = mostRuns;
    Object.defineProperty(this, 'moduleRunner', { value: Reflect.get(judge, 'moduleRunner') });
    this.__setTraces(Reflect.get(judge, '_otel'));
    // Each would stay as long as the process.
    delete this.onCleanupWorkerContext;
  }

  /** The id of the test that failed, or that of the file when a hook failed; undefined when all passed. */
  async of(test: string): Promise<string | undefined> {
    if (this.#mostRuns !== undefined) switches.hitLimit = this.#mostRuns();
    const [file] = await startTests([test], this);
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.resetConfig();
    return this.#failed ?? (file!.result?.state === 'fail' ? file!.id : undefined);
  }

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    if (this.#failed !== undefined || this.#only?.includes(test.id) === false) test.mode = 'skip';
    if (this.#mostRuns !== undefined) switches.hitLimit = switches.hitCount + this.#mostRuns(test.id);
    await super.onBeforeRunTask(test);
  }

  override onAfterRunTask(test: RunnerTask): void {
    super.onAfterRunTask(test);
    this.results.set(test.id, { name: test.name, milliseconds: test.result?.duration ?? 0 });
    if (test.result?.state === 'fail') this.#failed ??= test.id;
  }

  /** Writes no snapshots: a change is no reason for another one. */
  override async onAfterRunSuite(): Promise<void> {}
}

export default class Judge extends Counting {
  readonly #work = this.injectValue('mutation') as Work;

  constructor(config: ConstructorParameters<typeof TestRunner>[0]) {
    super(config);
    for (const line of readLog(this.#work.log)) {
      if (line.is === 'noticed') noticed.add(line.change);
      if (line.is === 'missed') missed.add(pair(line.change, line.test));
      if (line.is === 'trying') ended.set(pair(line.change, line.test), (ended.get(pair(line.change, line.test)) ?? 0) + 1);
    }
    this.#say({ is: 'begun', pid: process.pid });
    // With a listener beside its own, vitest does not take what a changed function leaves rejected for an error of its run.
    if (process.listenerCount('unhandledRejection') < 2)
      for (const event of ['unhandledRejection', 'uncaughtException']) process.on(event, () => undefined);
  }

  override async onAfterRunFiles(files: RunnerTestFile[]): Promise<void> {
    super.onAfterRunFiles(files);
    for (const file of files) await this.#judge(file);
  }

  #say(line: Progress): void {
    appendFileSync(this.#work.log, `${JSON.stringify(line)}\n`);
  }

  /** Tries each change that is not yet noticed, with those tests of the file that reach it. */
  async #judge(file: RunnerTestFile): Promise<void> {
    const test = file.filepath;
    const { changes, reloading } = this.#work;
    // Has what vitest's own run of the file reached, too: later runs may not reach what the code remembers.
    const coverage = switches.mutantCoverage;
    const unchanged = new Run(this);
    const wrong = file.result?.state === 'fail' ? file.id : await unchanged.of(test);
    if (wrong !== undefined) return this.#say({ is: 'wrong', test, name: unchanged.results.get(wrong)?.name ?? wrong });
    for (const change of Object.keys(coverage.static)) loaded.add(change);
    const { static: atLoading, perTest } = coverage;
    Object.assign(coverage, { static: {}, perTest: {} });
    const quick: string[] = [];
    for (const [id, { name, milliseconds }] of unchanged.results) {
      if (milliseconds > SLOW) this.#say({ is: 'slow', test, name });
      else quick.push(id);
    }
    for (const { id, file: changed } of changes) {
      if (noticed.has(id) || missed.has(pair(id, test))) continue;
      const reaching = quick.filter((name) => perTest[name]?.[id] !== undefined);
      const isLoaded = loaded.has(id) && reloading.includes(test) && this.#importers(changed).has(test);
      if (reaching.length === 0 && !isLoaded) continue;
      const times = ended.get(pair(id, test)) ?? 0;
      const alone = times === 1 && reaching.length > 0 ? await new Run(this, reaching).of(test) : undefined;
      if (alone !== undefined) return this.#say({ is: 'wrong', test, name: unchanged.results.get(alone)?.name ?? alone });
      this.#say({ is: 'trying', change: id, test });
      const runs = [atLoading, ...Object.values(perTest)].reduce((sum, counts) => sum + (counts[id] ?? 0), 0);
      // One test may do the work of all: what the code then remembers, the others find.
      const mostRuns: MostRuns = (name) =>
        MOST_RUNS.atLeast + runs + MOST_RUNS.timesAsOften * ((name === undefined ? atLoading : perTest[name])?.[id] ?? 0);
      const isNoticed =
        // It ended a process of its own, too.
        times > 1 ||
        (reaching.length > 0 && (await this.#notices(test, id, reaching, mostRuns))) ||
        // What the code remembers of an earlier run can keep these tests from the change: it is loaded again.
        (reaching.length > 0 && switches.hitCount === 0 && (await this.#notices(test, id, reaching, mostRuns, changed))) ||
        (isLoaded && (await this.#notices(test, id, quick, mostRuns, changed)));
      if (isNoticed) noticed.add(id);
      this.#say({ is: isNoticed ? 'noticed' : 'missed', change: id, test });
    }
    Object.assign(coverage, { static: {}, perTest: {} });
    this.#say({ is: 'done', test });
  }

  /**
   * Whether one of some tests fails with a change, and passes without it thereafter. Where it does not, an earlier change, or this one, left
   * something behind: this process ends, and the next one tries the change again, unless this change came first.
   */
  async #notices(test: string, id: string, tests: readonly string[], mostRuns: MostRuns, changed?: string): Promise<boolean> {
    const run = async (only: readonly string[], change?: string): Promise<string | undefined> => {
      if (changed !== undefined) this.#reload(changed);
      Object.assign(switches, { activeMutant: change, hitCount: 0 });
      const failed = await new Run(this, only, mostRuns).of(test);
      switches.activeMutant = undefined;
      return failed;
    };
    const failed = await run(tests, id);
    if (failed === undefined) {
      if (changed !== undefined) this.#reload(changed);
      return false;
    }
    const wasFresh = isFresh;
    isFresh = false;
    if ((await run(tests.includes(failed) ? [failed] : tests)) === undefined) return true;
    if (wasFresh) this.#say({ is: 'noticed', change: id, test });
    process.kill(process.pid, 'SIGKILL');
    return true;
  }

  /** Modules that this process has loaded, by their paths. */
  get #modules(): ReadonlyMap<string, { readonly importers: ReadonlySet<string> }> {
    return Reflect.get(this, 'workerState').evaluatedModules.idToModuleMap;
  }

  /** Paths of a module and of all that import it, directly or not. */
  #importers(module: string): ReadonlySet<string> {
    const found = new Set([module]);
    for (const path of found) for (const importer of this.#modules.get(path)?.importers ?? []) found.add(importer);
    return found;
  }

  /** Has a module and all that import it loaded again when the test file is loaded next. */
  #reload(module: string): void {
    for (const path of this.#importers(module)) {
      const node = this.#modules.get(path);
      if (node !== undefined) Object.assign(node, { promise: undefined, exports: undefined, evaluated: false });
    }
  }
}
