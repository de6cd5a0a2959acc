/** One world: daemons, database, service, receivers and shops in virtual time, acting out a plan and looked at by the model. */
import { connect } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { MIGRATIONS } from '../../src/work.ts';
import { MINUTE } from './acts/act.ts';
import { begin } from './acts/begin.ts';
import type { Plan } from './acts/plan.ts';
import { insert, registerLost } from './acts/registering.ts';
import { Daemons } from './daemons.ts';
import { factsOf, missing, watchBlindness, wrong } from './looks.ts';
import { type Excuse, type Facts, Model } from './model.ts';
import { Calm } from './model-calm.ts';
import { People } from './model-people.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { Outside } from './outside.ts';
import { wrongWords } from './own-words.ts';
import { settingsOf } from './settings.ts';
import { type Fate, type Server, serve } from './world/database.ts';
import { beginAgain, type Shell } from './world/process.ts';
import { keep, putBack, type Snapshot } from './world/snapshot.ts';
import { type Place, place } from './world/time.ts';

/** After everything is mended the world comes to rest within this. */
const RESTS_WITHIN = 60 * MINUTE;

/** A database with all tables and no rows. */
export async function migrated(shell: Shell): Promise<Snapshot> {
  const world = new World(shell, { seed: 0, daemons: 1, receivers: 1, lasts: 0, acts: [] }, keep(shell.engine));
  await world.migrate();
  return keep(shell.engine);
}

/** Acts out a plan from the beginning, to its end or until the first problem shows. */
export async function runWorld(shell: Shell, plan: Plan, snapshot: Snapshot, { untilProblem = false } = {}): Promise<Outcome> {
  beginAgain(shell, plan.seed);
  putBack(shell.engine, snapshot);
  const world = new World(shell, plan, snapshot);
  if (untilProblem)
    world.isOver = () => [world, world.model, world.calm, world.people].some(({ problems }) => problems.length > 0);
  const ended = (error: unknown): void => void world.problems.push(`the process of a daemon ended: ${(error as Error).stack}`);
  process.on('uncaughtException', ended).on('unhandledRejection', ended);
  await world.begin();
  for (const act of plan.acts) {
    await shell.scheduler.run(act.at);
    await world.look();
    if (world.isOver()) break;
    begin(world, act);
  }
  if (!world.isOver()) await shell.scheduler.run(plan.lasts);
  world.mend();
  await world.rest();
  await world.look();
  process.off('uncaughtException', ended).off('unhandledRejection', ended);
  return outcomeOf(world);
}

export class World {
  readonly shell: Shell;
  readonly server: Server;
  readonly daemons: Daemons;
  readonly outside: Outside;
  /** Of which a shop knows that they are registered; a call whose answer was lost may have registered others. */
  readonly registered = new Set<string>();
  /** Which were registered ever. */
  readonly #met = new Set<string>();
  /** Which a person had stopped, and no shop has taken up since. */
  readonly stopped = new Set<string>();
  /** Which a person wanted erased, or stopped without a word that it was done: nobody knows whether they are watched. */
  readonly untold = new Set<string>();
  /** Whose registration was undone. */
  readonly undone = new Set<string>();
  /** Which belong to the second site. */
  readonly second = new Set<string>();
  /** Whether nothing more is wanted of this world. */
  isOver = (): boolean => false;
  /** How often the database went back. */
  era = 0;
  /** How many shops have still to do again what failed or was lost. */
  owed = 0;
  /** How many tests of receivers people asked for. */
  tests = 0;
  /** How many sessions hold a transaction open. */
  holds = 0;
  readonly problems: string[] = [];
  /** What happened that excuses what is wrong otherwise. */
  readonly excuses: Excuse[] = [];
  readonly facts: Facts;
  readonly model: Model;
  readonly people: People;
  readonly calm: Calm;
  /** Places that nothing reaches and that reach nothing. */
  readonly cut = new Set<Place>();
  readonly #noted = new Set<string>();
  /** Milliseconds by which the network is slower. */
  slow = 0;
  /** The share of statements that get lost, or fail with a SQLSTATE. */
  spoils: { readonly share: number; readonly code: string | null } | null = null;
  readonly plan: Plan;
  readonly #empty: Snapshot;
  #copy: { readonly at: number; readonly snapshot: Snapshot; readonly registered: ReadonlySet<string> };

  /** `empty`: the database with its tables and no rows. */
  constructor(shell: Shell, plan: Plan, empty: Snapshot) {
    const { scheduler, network, random } = shell;
    this.shell = shell;
    this.plan = plan;
    this.#empty = empty;
    this.#copy = { at: 0, snapshot: empty, registered: new Set() };
    network.weather = {
      delay: (from, to) => (this.cut.has(from) || this.cut.has(to) ? null : 0.1 + random.next() * (1 + this.slow)),
      refuses: () => false,
    };
    const addresses = Array.from({ length: plan.daemons }, (_, index) => `127.0.0.1:${5501 + index}`);
    this.server = serve(shell.engine, network, scheduler, place('database'), addresses);
    this.server.fate = () => this.#fate();
    this.facts = factsOf(this);
    this.model = new Model(this.facts);
    this.people = new People(this.facts, this.model);
    this.calm = new Calm(this.excuses);
    this.outside = new Outside(shell, plan, {
      got: (receiver, got) => {
        this.model.got(receiver, got);
        if (receiver === this.outside.pager.name) this.people.got(got);
      },
      calm: this.calm,
    });
    this.daemons = new Daemons(shell, plan.daemons, (variation) => settingsOf(this.outside, variation));
  }

  async begin(): Promise<void> {
    const { scheduler } = this.shell;
    await this.outside.open();
    // Purchases can be registered once the first daemon has named its sites.
    this.daemons.start(0);
    await scheduler.run(MINUTE, () => this.daemons.url() !== null);
    for (let index = 1; index < this.plan.daemons; index++) this.daemons.start(index);
    watchBlindness(this);
  }

  async migrate(): Promise<void> {
    const { scheduler } = this.shell;
    this.server.overlaps = true;
    const sql = scheduler.in(this.outside.place, () => connect('postgres://postgres@127.0.0.1:5501/postgres', { max: 3 }));
    let isDone = false;
    scheduler.in(this.outside.place, () =>
      migrate(sql, MIGRATIONS).then(async () => {
        await sql.end();
        isDone = true;
      }),
    );
    await scheduler.run(MINUTE, () => isDone);
    if (!isDone) throw new Error('the database was not migrated');
    this.server.overlaps = false;
    await scheduler.run(scheduler.now + 1_000);
  }

  #fate(): Fate {
    const { random } = this.shell;
    if (this.spoils === null || random.next() >= this.spoils.share) return 'done';
    const { code } = this.spoils;
    if (code !== null) return { code };
    return random.one(['lost before', 'lost after', { late: 100 + random.below(20_000) }] as const);
  }

  get now(): number {
    return this.shell.scheduler.now;
  }

  /** The right time, in epoch milliseconds. */
  get wall(): number {
    return this.shell.scheduler.begin + this.now;
  }

  /** Answers a note that these are registered, for when a shop gets to know it; the database may have gone back meanwhile. */
  knows(ids: readonly string[]): () => void {
    const { era } = this;
    return () => {
      if (era !== this.era) return;
      for (const id of ids)
        if (!this.stopped.has(id) && !this.untold.has(id)) {
          // One that is taken up again may stay in its state for long.
          if (!this.#met.has(id)) this.calm.registered(id, this.wall);
          this.#met.add(id);
          this.registered.add(id);
        }
    };
  }

  /** A person wants a purchase stopped or erased. */
  leave(id: string): void {
    this.registered.delete(id);
    this.stopped.add(id);
    this.untold.add(id);
  }

  /** Keeps a copy of the database, as a backup or a standby does. */
  copy(): void {
    const { engine } = this.shell;
    this.server.between(() => {
      this.#copy = { at: this.now, snapshot: keep(engine), registered: new Set(this.registered) };
    });
  }

  /** Puts the last copy in place of the database, or tables without rows. */
  goBack(to: 'copy' | 'nothing'): void {
    const { engine, scheduler } = this.shell;
    const { at, snapshot, registered } =
      to === 'copy' ? this.#copy : { at: 0, snapshot: this.#empty, registered: new Set<string>() };
    scheduler.in(this.server.place, () => this.server.replace(() => putBack(engine, snapshot)));
    this.era++;
    for (const id of this.registered) if (!registered.has(id)) this.registered.delete(id);
    this.excuses.push({ kind: 'went back', at: this.wall, to: scheduler.begin + at });
    registerLost(this, at);
  }

  /** Steps the wall clock of the database's machine or of a daemon's. */
  step(of: 'database' | number, by: number): void {
    if (of === 'database') this.server.place.skew += by;
    else this.daemons.step(of, by);
  }

  /** Runs SQL between transactions, without a network. */
  sql(sql: string, done?: (answer: Buffer) => void): void {
    this.shell.scheduler.in(this.server.place, () => this.server.run(sql, done));
  }

  /** A shop's call to the first daemon that runs; null where no answer came. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; text: string } | null> {
    const url = this.daemons.url();
    return url === null ? null : this.outside.call(url, { method, path, body, headers });
  }

  /** Ends every fault, and has every daemon run. */
  mend(): void {
    this.slow = 0;
    this.spoils = null;
    this.cut.clear();
    this.server.refuses = null;
    this.server.isDeaf = false;
    this.server.place.skew = 0;
    this.sql('set default_transaction_read_only = off');
    this.outside.mend();
    this.daemons.mend(this.second.size > 0 ? { hasSecondSite: true } : {});
  }

  /** Lets the model look at what is wrong at any moment. */
  async look(): Promise<void> {
    // What is read comes between transactions.
    if (this.holds > 0) return;
    for (const problem of await wrong(this)) this.#note(problem);
  }

  /** Lets everything come to rest; then has the pages mended where customers are stuck, and customers get on there. */
  async rest(): Promise<void> {
    await this.#settle();
    const states = this.people.openStates();
    if (this.model.stuck.size === 0 || this.isOver()) return;
    this.outside.simulator.control.fixPage();
    const { scheduler } = this.shell;
    for (const state of states) {
      // Those who come at the same time count as one.
      const lives = Array.from({ length: 6 }, (_, index) => [
        { state, after: 12_000 * (index + 1) },
        { state: 'Completed', after: 20_000 },
      ]);
      const ids = scheduler.in(this.outside.place, () => lives.flatMap((life) => this.outside.make(1, life)));
      insert(this, ids);
    }
    await this.#settle();
  }

  /** Lets time pass until nothing is missing, or until it should be so; the product says the same then. */
  async #settle(): Promise<void> {
    const { scheduler } = this.shell;
    const until = scheduler.now + RESTS_WITHIN;
    let left: string[] = [];
    let isLast = false;
    while (scheduler.now < until) {
      await scheduler.run(scheduler.now + MINUTE / 2);
      if (this.isOver()) return;
      if (this.owed > 0 || this.holds > 0) continue;
      left = await missing(this);
      if (left.length > 0) continue;
      const words = await wrongWords(this).catch((error: unknown) => [`at rest: ${(error as Error).message}`]);
      // A daemon that has just begun still takes its shards over, which the headline says.
      if (words.length > 0 && !isLast) {
        isLast = true;
        continue;
      }
      for (const problem of words) this.#note(problem);
      return;
    }
    if (this.owed > 0) this.#note(`${this.owed} registrations were refused to the end`);
    for (const problem of left) this.#note(problem);
  }

  #note(problem: string): void {
    const at = Math.round(this.shell.scheduler.now / 1_000);
    if (!this.#noted.has(problem)) this.problems.push(`${at} s: ${problem}`);
    this.#noted.add(problem);
  }
}
