/** One world: daemons, database, service, receivers and shops in virtual time, acting out a plan and looked at by the model. */
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import { MIGRATIONS } from '../../src/work.ts';
import { type Got, missingAtRest, neverSent, type Row, type Truth } from './model.ts';
import { type Act, MINUTE, type Plan, type ReceiverMood } from './plan.ts';
import { onlyValue, type Server, serve } from './world/database.ts';
import { beginAgain, type Shell } from './world/process.ts';
import { keep, putBack, type Snapshot } from './world/snapshot.ts';
import { type Place, place } from './world/time.ts';

const KEY = 'sim-key-0123456789abcdef0123456789abcdef';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
/** How V8 names a function in a stack depends on what it has compiled. */
const STACK = /,"stack":"(?:[^"\\]|\\.)*"/g;
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

interface Daemon {
  place: Place;
  app: Awaited<ReturnType<typeof createApp>> | null;
  starts: number;
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
  await world.begin();
  for (const act of plan.acts) {
    await shell.scheduler.run(act.at);
    world.act(act);
  }
  await shell.scheduler.run(plan.lasts);
  world.mend();
  await world.rest();
  return world.outcome();
}

class World {
  readonly #shell: Shell;
  readonly #plan: Plan;
  readonly #database = place('database');
  readonly #outside = place('outside');
  readonly #server: Server;
  readonly #daemons: Daemon[];
  readonly #log: string[] = [];
  readonly #receivers = new Map<string, { got: Got[]; mood: ReceiverMood | null }>();
  /** Of every purchase that a shop asked for. */
  readonly #truths = new Map<string, Truth>();
  /** Those of which a shop knows that they are registered; a call whose answer was lost may have registered others. */
  readonly #registered = new Set<string>();
  readonly #cut = new Set<Place>();
  readonly #problems: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'purchase-watch-simulation-'));
  #slow = 0;
  #loses = 0;
  #simulator!: ReturnType<typeof createSimulator>;

  constructor(shell: Shell, plan: Plan) {
    const { scheduler, network, random } = shell;
    this.#shell = shell;
    this.#plan = plan;
    network.weather = {
      delay: (from, to) => (this.#cut.has(from) || this.#cut.has(to) ? null : 0.1 + random.next() * (1 + this.#slow)),
      refuses: () => false,
    };
    const addresses = Array.from({ length: plan.daemons }, (_, index) => `127.0.0.1:${5501 + index}`);
    this.#server = serve(shell.engine, network, scheduler, this.#database, addresses);
    this.#server.fate = () => (random.next() < this.#loses ? (random.chance(0.5) ? 'lost before' : 'lost after') : 'done');
    this.#daemons = addresses.map((_, index) => ({ place: place(`daemon ${index}`), app: null, starts: 0 }));
  }

  async begin(): Promise<void> {
    const { scheduler } = this.#shell;
    let isOpen = false;
    scheduler.in(this.#outside, () => {
      this.#simulator = createSimulator({ now: () => scheduler.begin + scheduler.now, seed: this.#plan.seed });
      void this.#simulator.start().then(() => {
        isOpen = true;
      });
      for (let index = 0; index < this.#plan.receivers; index++) this.#openReceiver(`shop${index}`, 8100 + index);
    });
    await scheduler.run(1_000, () => isOpen);
    // Purchases can be registered once the first daemon has named its sites.
    this.#start(0);
    await scheduler.run(MINUTE, () => this.#daemons[0]?.app?.url() !== null && this.#daemons[0]?.app !== null);
    for (let index = 1; index < this.#daemons.length; index++) this.#start(index);
  }

  async migrate(): Promise<void> {
    const { scheduler } = this.#shell;
    this.#server.overlaps = true;
    const sql = scheduler.in(this.#outside, () => connect('postgres://postgres@127.0.0.1:5501/postgres', { max: 3 }));
    let isDone = false;
    scheduler.in(this.#outside, () =>
      migrate(sql, MIGRATIONS).then(async () => {
        await sql.end();
        isDone = true;
      }),
    );
    await scheduler.run(MINUTE, () => isDone);
    if (!isDone) throw new Error('the database was not migrated');
    this.#server.overlaps = false;
    await scheduler.run(scheduler.now + 1_000);
  }

  #start(index: number): void {
    const daemon = this.#daemons[index]!;
    if (daemon.app !== null) return;
    daemon.starts++;
    daemon.place = place(`daemon ${index} start ${daemon.starts}`);
    const path = join(this.#folder, 'settings.yaml');
    writeFileSync(path, this.#settings());
    const settings = loadSettings({
      PURCHASE_WATCH_CONFIG: path,
      DATABASE_URL: `postgres://postgres@127.0.0.1:${5501 + index}/postgres`,
      DATA_DIR: this.#folder,
      API_KEY: KEY,
      PORT: `${7000 + 100 * index + daemon.starts}`,
      HOST: '127.0.0.1',
      LOG_LEVEL: 'debug',
      // To find out, a start asks on one connection while another has a transaction, and the engine has one session for both.
      DATABASE_POOL_MODE: 'session',
    });
    const destination = {
      write: (line: string) => this.#log.push(`${index} ${line.replaceAll(STACK, '')}`),
    } as unknown as NodeJS.WritableStream;
    const { place: own } = daemon;
    this.#shell.scheduler.in(own, () => {
      createApp(settings, { log: createLogger({ level: 'debug', destination }), random: this.#shell.random.next })
        .then(async (app) => {
          daemon.app = app;
          await app.start();
        })
        .catch((error: unknown) => {
          this.#log.push(`${index} ended: ${(error as Error).message}`);
          // A supervisor starts it again.
          if (daemon.place === own) this.#kill(index);
          this.#shell.scheduler.after(2_000, () => this.#start(index), this.#shell.scheduler.world);
        });
    });
  }

  #settings(): string {
    const names = [...this.#receivers.keys()];
    const subscribers = names.map(
      (name, index) => `  ${name}: { url: "http://127.0.0.1:${8100 + index}/hook", secret: ${SECRET} }`,
    );
    return [
      `sites: { default: { baseUrl: "${this.#simulator.url}", clientId: demo-client, clientSecret: demo-secret } }`,
      'webhooks: { schedule: [5s, 20s, 1m, 2m, 5m, 5m, 5m], timeout: 5s, allowAddresses: [127.0.0.0/8] }',
      'subscribers:',
      ...subscribers,
    ].join('\n');
  }

  #kill(index: number): void {
    const daemon = this.#daemons[index]!;
    daemon.place.state = 'dead';
    daemon.app = null;
    this.#shell.network.breakOf(daemon.place);
  }

  #openReceiver(name: string, port: number): void {
    const receiver: { got: Got[]; mood: ReceiverMood | null } = { got: [], mood: null };
    this.#receivers.set(name, receiver);
    const { scheduler } = this.#shell;
    createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
        const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
        const signed = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
        const { mood } = receiver;
        const accepted = mood === null || mood === 'lies' || mood === 'slow';
        receiver.got.push({ at: scheduler.now, id: `${id}`, body, accepted, signed: `${signature}`.split(' ').includes(signed) });
        answer(response, mood, scheduler.after.bind(scheduler));
      });
    }).listen(port, '127.0.0.1');
  }

  act(act: Act): void {
    const { scheduler } = this.#shell;
    const later = (lasts: number, mended: () => void): void => void scheduler.after(lasts, mended, scheduler.world);
    switch (act.does) {
      case 'registers':
        scheduler.in(this.#outside, () => this.#register(act));
        break;
      case 'kills':
        this.#kill(act.daemon);
        break;
      case 'starts':
        this.#start(act.daemon);
        break;
      case 'stops':
        this.#stop(act.daemon);
        break;
      case 'freezes': {
        const { place: frozen } = this.#daemons[act.daemon]!;
        if (frozen.state !== 'running') break;
        frozen.state = 'frozen';
        later(act.lasts, () => frozen.state === 'frozen' && scheduler.thaw(frozen));
        break;
      }
      case 'cuts off': {
        const { place: alone } = this.#daemons[act.daemon]!;
        this.#cut.add(alone);
        later(act.lasts, () => this.#cut.delete(alone));
        break;
      }
      case 'restarts the database':
        scheduler.in(this.#database, () => this.#server.restart());
        break;
      case 'loses statements':
        this.#loses = act.share;
        later(act.lasts, () => {
          this.#loses = 0;
        });
        break;
      case 'spoils answers':
        this.#simulator.control.fail({ kind: act.kind, share: act.share, for: act.lasts });
        break;
      case 'spoils a receiver': {
        const receiver = this.#receivers.get(`shop${act.receiver}`)!;
        receiver.mood = act.mood;
        later(act.lasts, () => {
          receiver.mood = null;
        });
        break;
      }
      case 'slows the network':
        this.#slow = act.ms;
        later(act.lasts, () => {
          this.#slow = 0;
        });
        break;
      case 'asks for polls':
        for (const id of this.#truths.keys()) void this.#call('POST', `/v1/purchases/${id}/poll`);
    }
  }

  #stop(index: number): void {
    const daemon = this.#daemons[index]!;
    const { app, place: own } = daemon;
    if (app === null) return;
    daemon.app = null;
    this.#shell.scheduler.in(
      own,
      () =>
        void app.stop().then(() => {
          own.state = 'dead';
          this.#shell.network.breakOf(own);
        }),
    );
  }

  #register({ by, life, count }: Extract<Act, { does: 'registers' }>): void {
    const made = this.#simulator.control.addMany(count, { script: life });
    const ids = made.map(({ purchaseId }) => purchaseId);
    for (const id of ids) this.#truths.set(id, { purchaseId: id, history: [] });
    const known = (): void => {
      for (const id of ids) this.#registered.add(id);
    };
    if (by === 'sql') {
      const sql = `insert into purchase_watch.purchases (purchase_id) values ${ids.map((id) => `('${id}')`).join()}`;
      this.#shell.scheduler.in(this.#database, () =>
        this.#server.run(sql, (answer) => {
          if (answer.includes('ERROR')) this.#problems.push(`an insert failed: ${answer.toString('latin1')}`);
          else known();
        }),
      );
      return;
    }
    void this.#call('POST', '/v1/purchases/batch', { purchases: ids.map((purchaseId) => ({ purchaseId })) }).then((status) => {
      if (status !== null && status < 300) known();
    });
  }

  /** Answers the status of a call to the first daemon that runs, or null where no answer came. */
  async #call(method: string, path: string, body?: unknown): Promise<number | null> {
    const url = this.#daemons.find(({ app }) => app?.url())?.app?.url();
    if (!url) return null;
    const { request } = await import('undici');
    try {
      const answer = await request(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      await answer.body.text();
      return answer.statusCode;
    } catch {
      return null;
    }
  }

  /** Ends every fault, and has every daemon run. */
  mend(): void {
    this.#slow = 0;
    this.#loses = 0;
    this.#cut.clear();
    this.#simulator.control.clearFaults();
    for (const receiver of this.#receivers.values()) receiver.mood = null;
    this.#daemons.forEach(({ place: own }, index) => {
      if (own.state === 'frozen') this.#shell.scheduler.thaw(own);
      this.#start(index);
    });
  }

  /** Lets time pass until nothing is missing, or until it should be so. */
  async rest(): Promise<void> {
    const { scheduler } = this.#shell;
    const until = scheduler.now + RESTS_WITHIN;
    while (scheduler.now < until) {
      await scheduler.run(scheduler.now + MINUTE);
      if (this.#missing().length === 0) return;
    }
    this.#problems.push(...this.#missing());
  }

  #read(): Map<string, Truth> {
    for (const [id] of this.#truths) this.#truths.set(id, { purchaseId: id, history: this.#simulator.control.get(id)!.history });
    return this.#truths;
  }

  #missing(): string[] {
    const registered = [...this.#read().values()].filter(({ purchaseId }) => this.#registered.has(purchaseId));
    return missingAtRest(this.#got(), this.#rows(), registered);
  }

  #got(): Map<string, readonly Got[]> {
    return new Map([...this.#receivers].map(([name, { got }]) => [name, got]));
  }

  #rows(): Row[] {
    const sql =
      "select coalesce(json_agg(json_build_object('purchaseId', purchase_id, 'state', state, 'status', status)), '[]') from purchase_watch.purchases";
    let rows: Row[] = [];
    this.#shell.scheduler.in(this.#database, () =>
      this.#server.run(sql, (answer) => {
        rows = JSON.parse(onlyValue(answer)) as Row[];
      }),
    );
    return rows;
  }

  outcome(): Outcome {
    const truths = this.#read();
    for (const [name, got] of this.#got()) this.#problems.push(...neverSent(name, got, truths));
    const requests = [...this.#receivers.values()].flatMap(({ got }) => got);
    const digest = createHash('sha256').update(this.#log.join('')).update(JSON.stringify(requests)).digest('hex').slice(0, 16);
    return {
      problems: this.#problems,
      digest,
      figures: {
        statements: this.#server.count,
        steps: this.#shell.scheduler.steps,
        purchases: this.#registered.size,
        requests: requests.length,
        minutes: Math.round(this.#shell.scheduler.now / MINUTE),
      },
      log: this.#log,
    };
  }
}

function answer(response: ServerResponse, mood: ReceiverMood | null, after: (ms: number, act: () => void) => unknown): void {
  if (mood === null) response.end('ok');
  else if (mood === 'fails' || mood === 'lies') response.writeHead(500).end('no');
  else if (mood === 'closes') response.destroy();
  else if (mood === 'slow') after(3_000, () => response.end('ok'));
}
