/** One world: daemons, database, service, receivers and shops in virtual time, acting out a plan and looked at by the model. */
import { createHash } from 'node:crypto';
import { connect } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { MIGRATIONS } from '../../src/work.ts';
import { begin, register } from './acts.ts';
import { Daemons } from './daemons.ts';
import { factsOf, MAX_RPS, missing, watchBlindness, wrong } from './looks.ts';
import { type Excuse, type Facts, Model } from './model.ts';
import { Calm } from './model-calm.ts';
import { People } from './model-people.ts';
import { Outside, SECRET } from './outside.ts';
import { wrongWords } from './own-words.ts';
import { MINUTE, type Plan } from './plan.ts';
import { type Server, serve } from './world/database.ts';
import { beginAgain, type Shell } from './world/process.ts';
import { keep, putBack, type Snapshot } from './world/snapshot.ts';
import { type Place, place } from './world/time.ts';

/** After everything is mended the world comes to rest within this. */
const RESTS_WITHIN = 60 * MINUTE;

export interface Outcome {
  readonly problems: readonly string[];
  /** Of all that was logged and received. */
  readonly digest: string;
  readonly figures: {
    readonly statements: number;
    readonly steps: number;
    readonly purchases: number;
    readonly requests: number;
    readonly minutes: number;
  };
  readonly log: readonly string[];
}

/** A database with all tables and no rows. */
export async function migrated(shell: Shell): Promise<Snapshot> {
  const world = new World(shell, { seed: 0, daemons: 1, receivers: 1, lasts: 0, acts: [] });
  await world.migrate();
  return keep(shell.engine);
}

/** Acts out a plan from the beginning. */
export async function runWorld(shell: Shell, plan: Plan, snapshot: Snapshot): Promise<Outcome> {
  beginAgain(shell, plan.seed);
  putBack(shell.engine, snapshot);
  const world = new World(shell, plan);
  const ended = (error: unknown): void => void world.problems.push(`the process of a daemon ended: ${(error as Error).stack}`);
  process.on('uncaughtException', ended).on('unhandledRejection', ended);
  await world.begin();
  for (const act of plan.acts) {
    await shell.scheduler.run(act.at);
    await world.look();
    begin(world, act);
  }
  await shell.scheduler.run(plan.lasts);
  world.mend();
  await world.rest();
  await world.look();
  process.off('uncaughtException', ended).off('unhandledRejection', ended);
  return world.outcome();
}

export class World {
  readonly shell: Shell;
  readonly server: Server;
  readonly daemons: Daemons;
  readonly outside: Outside;
  /** Of which a shop knows that they are registered; a call whose answer was lost may have registered others. */
  readonly registered = new Set<string>();
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
  /** The share of statements that get lost. */
  loses = 0;
  readonly plan: Plan;

  constructor(shell: Shell, plan: Plan) {
    const { scheduler, network, random } = shell;
    this.shell = shell;
    this.plan = plan;
    network.weather = {
      delay: (from, to) => (this.cut.has(from) || this.cut.has(to) ? null : 0.1 + random.next() * (1 + this.slow)),
      refuses: () => false,
    };
    const addresses = Array.from({ length: plan.daemons }, (_, index) => `127.0.0.1:${5501 + index}`);
    this.server = serve(shell.engine, network, scheduler, place('database'), addresses);
    this.server.fate = () => (random.next() < this.loses ? (random.chance(0.5) ? 'lost before' : 'lost after') : 'done');
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
    this.daemons = new Daemons(shell, plan.daemons, () => this.#settings());
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

  #settings(): string {
    return [
      `sites: { default: { baseUrl: "${this.outside.simulator.url}", clientId: demo-client, clientSecret: demo-secret, maxRps: ${MAX_RPS}, concurrency: 8 } }`,
      'states: { WaitingForIdentityProvider: { stuckAfter: 1m }, WaitingForCardPayments: { stuckAfter: 1m } }',
      `slack: { groupWait: 5s, groupInterval: 30s, quietFor: 20s, maxPerHour: 200, channels: { ops: { webhookUrl: "${this.outside.slackUrl}" } } }`,
      `alerts: { channels: { pager: { webhookUrl: "${this.outside.pager.url}", secret: ${SECRET} } } }`,
      'webhooks: { schedule: [5s, 20s, 1m, 2m, 5m, 5m, 5m], timeout: 5s, allowAddresses: [127.0.0.0/8] }',
      'subscribers:',
      ...this.outside.receivers.map(({ name, url }) => `  ${name}: { url: "${url}", secret: ${SECRET} }`),
    ].join('\n');
  }

  /** Runs SQL between transactions, without a network. */
  sql(sql: string, done?: (answer: Buffer) => void): void {
    this.shell.scheduler.in(this.server.place, () => this.server.run(sql, done));
  }

  /** A shop's call to the first daemon that runs; null where no answer came. */
  async call(method: string, path: string, body?: unknown): Promise<{ status: number; text: string } | null> {
    const url = this.daemons.url();
    return url === null ? null : this.outside.call(url, method, path, body);
  }

  /** Ends every fault, and has every daemon run. */
  mend(): void {
    this.slow = 0;
    this.loses = 0;
    this.cut.clear();
    this.outside.mend();
    this.daemons.mend();
  }

  /** Lets the model look at what is wrong at any moment. */
  async look(): Promise<void> {
    for (const problem of await wrong(this)) this.#note(problem);
  }

  /** Lets everything come to rest; then has the pages mended where customers are stuck, and customers get on there. */
  async rest(): Promise<void> {
    await this.#settle();
    const states = this.people.openStates();
    if (this.model.stuck.size === 0) return;
    this.outside.simulator.control.fixPage();
    const { scheduler } = this.shell;
    for (const state of states) {
      // Those who come at the same time count as one.
      const lives = Array.from({ length: 6 }, (_, index) => [
        { state, after: 12_000 * (index + 1) },
        { state: 'Completed', after: 20_000 },
      ]);
      const ids = scheduler.in(this.outside.place, () => lives.flatMap((life) => this.outside.make(1, life)));
      await register(this, ids, 'sql');
    }
    await this.#settle();
  }

  /** Lets time pass until nothing is missing, or until it should be so; the product says the same then. */
  async #settle(): Promise<void> {
    const { scheduler } = this.shell;
    const until = scheduler.now + RESTS_WITHIN;
    let left: string[] = [];
    while (scheduler.now < until) {
      await scheduler.run(scheduler.now + MINUTE / 2);
      left = await missing(this);
      if (left.length > 0) continue;
      const words = await wrongWords(this).catch((error: unknown) => [`at rest: ${(error as Error).message}`]);
      for (const problem of words) this.#note(problem);
      return;
    }
    for (const problem of left) this.#note(problem);
  }

  #note(problem: string): void {
    const at = Math.round(this.shell.scheduler.now / 1_000);
    if (!this.#noted.has(problem)) this.problems.push(`${at} s: ${problem}`);
    this.#noted.add(problem);
  }

  outcome(): Outcome {
    const requests = [...this.outside.receivers, this.outside.pager].flatMap(({ got }) => got);
    const { log } = this.daemons;
    const digest = createHash('sha256')
      .update(log.join(''))
      .update(JSON.stringify([requests, this.outside.said]))
      .digest('hex')
      .slice(0, 16);
    return {
      problems: this.problems,
      digest,
      figures: {
        statements: this.server.count,
        steps: this.shell.scheduler.steps,
        purchases: this.registered.size,
        requests: requests.length,
        minutes: Math.round(this.shell.scheduler.now / MINUTE),
      },
      log,
    };
  }
}
