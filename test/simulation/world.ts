/** One world: daemons, database, service, receivers and shops in virtual time, acting out a plan and looked at by the model. */
import { createHash } from 'node:crypto';
import { connect } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { MIGRATIONS } from '../../src/work.ts';
import { MINUTE, type Variation } from './act.ts';
import { begin } from './acts.ts';
import { Daemons } from './daemons.ts';
import type { Happening } from './history.ts';
import { forbidden, missing } from './looks.ts';
import { Outside, SECRET } from './outside.ts';
import type { Plan } from './plan.ts';
import { registerLost } from './registering.ts';
import { type Fate, type Server, serve } from './world/database.ts';
import { beginAgain, type Shell } from './world/process.ts';
import { keep, putBack, type Snapshot } from './world/snapshot.ts';
import { type Place, place } from './world/time.ts';

/** After everything is mended the world comes to rest within this. */
const RESTS_WITHIN = 60 * MINUTE;
const NEXT_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

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
  const world = new World(shell, { seed: 0, daemons: 1, receivers: 1, lasts: 0, acts: [] }, keep(shell.engine));
  await world.migrate();
  return keep(shell.engine);
}

/** Acts out a plan from the beginning. */
export async function runWorld(shell: Shell, plan: Plan, snapshot: Snapshot): Promise<Outcome> {
  beginAgain(shell, plan.seed);
  putBack(shell.engine, snapshot);
  const world = new World(shell, plan, snapshot);
  await world.begin();
  for (const act of plan.acts) {
    await shell.scheduler.run(act.at);
    begin(world, act);
  }
  await shell.scheduler.run(plan.lasts);
  world.mend();
  await world.rest();
  return world.outcome();
}

export class World {
  readonly shell: Shell;
  readonly server: Server;
  readonly daemons: Daemons;
  readonly outside: Outside;
  /** Of which a shop knows that they are registered; a call whose answer was lost may have registered others. */
  readonly registered = new Set<string>();
  /** Which a person had stopped, and no shop has taken up since. */
  readonly stopped = new Set<string>();
  /** Which a person wanted erased, or stopped without a word that it was done: nobody knows whether they are watched. */
  readonly untold = new Set<string>();
  /** Which belong to the second site. */
  readonly second = new Set<string>();
  readonly history: Happening[] = [];
  /** How often the database went back. */
  era = 0;
  /** How many shops have still to do again what failed or was lost. */
  owed = 0;
  readonly problems: string[] = [];
  /** Places that nothing reaches and that reach nothing. */
  readonly cut = new Set<Place>();
  /** Milliseconds by which the network is slower. */
  slow = 0;
  /** The share of statements that get lost, or fail with a SQLSTATE. */
  spoils: { readonly share: number; readonly code: string | null } | null = null;
  readonly #plan: Plan;
  readonly #empty: Snapshot;
  #copy: { readonly at: number; readonly snapshot: Snapshot; readonly registered: ReadonlySet<string> };

  /** `empty`: the database with its tables and no rows. */
  constructor(shell: Shell, plan: Plan, empty: Snapshot) {
    const { scheduler, network, random } = shell;
    this.shell = shell;
    this.#plan = plan;
    this.#empty = empty;
    this.#copy = { at: 0, snapshot: empty, registered: new Set() };
    network.weather = {
      delay: (from, to) => (this.cut.has(from) || this.cut.has(to) ? null : 0.1 + random.next() * (1 + this.slow)),
      refuses: () => false,
    };
    const addresses = Array.from({ length: plan.daemons }, (_, index) => `127.0.0.1:${5501 + index}`);
    this.server = serve(shell.engine, network, scheduler, place('database'), addresses);
    this.server.fate = () => this.#fate();
    this.outside = new Outside(shell, plan);
    this.daemons = new Daemons(shell, plan.daemons, (variation) => this.#settings(variation));
  }

  async begin(): Promise<void> {
    const { scheduler } = this.shell;
    await this.outside.open();
    // Purchases can be registered once the first daemon has named its sites.
    this.daemons.start(0);
    await scheduler.run(MINUTE, () => this.daemons.url() !== null);
    for (let index = 1; index < this.#plan.daemons; index++) this.daemons.start(index);
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

  #settings({ giveUpAfter, schedule, concurrency, maxRps, most, isRotating, hasSecondSite }: Variation): string {
    const site = {
      baseUrl: this.outside.simulator.url,
      clientId: 'demo-client',
      clientSecret: 'demo-secret',
      concurrency: concurrency ?? 32,
      maxRps: maxRps ?? 50,
    };
    const secrets = isRotating ? { secret: NEXT_SECRET, oldSecrets: [SECRET] } : { secret: SECRET };
    return JSON.stringify({
      sites: { default: site, ...(hasSecondSite ? { second: site } : {}) },
      polling: { giveUpAfter: giveUpAfter ?? '30d' },
      states: most === undefined ? {} : { BeingProcessed: { poll: { most } } },
      webhooks: {
        // Nothing is given up within the time of a world.
        schedule: [...(schedule ?? ['5s', '20s', '1m', '2m']), ...Array.from({ length: 30 }, () => '5m')],
        timeout: '5s',
        concurrency: concurrency ?? 64,
        allowAddresses: ['127.0.0.0/8'],
      },
      subscribers: Object.fromEntries(this.outside.receivers.map(({ name, url }) => [name, { url, ...secrets }])),
    });
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

  /** Answers a note that these are registered, for when a shop gets to know it; the database may have gone back meanwhile. */
  knows(ids: readonly string[]): () => void {
    const { era } = this;
    return () => {
      if (era !== this.era) return;
      for (const id of ids) if (!this.stopped.has(id) && !this.untold.has(id)) this.registered.add(id);
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
    this.history.push({ at: this.now, what: 'went back', to: at });
    registerLost(this, at);
  }

  /** Steps the wall clock of the database's machine or of a daemon's. */
  step(of: 'database' | number, by: number): void {
    if (of === 'database') this.server.place.skew += by;
    else this.daemons.step(of, by);
    this.history.push({ at: this.now, what: 'clock stepped', of, by });
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
    if (this.second.size > 0) this.daemons.change(0, { hasSecondSite: true });
    this.daemons.mend();
  }

  /** Lets time pass until nothing is missing, or until it should be so. */
  async rest(): Promise<void> {
    const { scheduler } = this.shell;
    const until = scheduler.now + RESTS_WITHIN;
    while (scheduler.now < until) {
      await scheduler.run(scheduler.now + MINUTE);
      if (this.owed === 0 && missing(this).length === 0) return;
    }
    if (this.owed > 0) this.problems.push(`${this.owed} registrations were refused to the end`);
    this.problems.push(...missing(this));
  }

  outcome(): Outcome {
    this.problems.push(...forbidden(this));
    const requests = this.outside.receivers.flatMap(({ got }) => got);
    const { log } = this.daemons;
    const digest = createHash('sha256').update(log.join('')).update(JSON.stringify(requests)).digest('hex').slice(0, 16);
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
