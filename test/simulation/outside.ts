/** All that daemons deal with but the database: the checkout service, receivers, and shops that call the API. */
import { createHmac } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { Agent, request } from 'undici';
import type { ScriptStep } from '../../packages/simulator/src/contract/purchases.ts';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { type Life, MOODS, type ReceiverMood } from './acts/act.ts';
import type { Plan } from './acts/plan.ts';
import { KEY } from './daemons.ts';
import type { Got, Truth } from './model.ts';
import type { Calm } from './model-calm.ts';
import type { Said } from './model-people.ts';
import type { Shell } from './world/process.ts';
import { createRandom, type Random } from './world/random.ts';
import { place } from './world/time.ts';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

interface Receiver {
  readonly name: string;
  readonly url: string;
  readonly got: Got[];
  mood: ReceiverMood | null;
  /** Of its answers, the share that has the mood. */
  share: number;
}

/** A call of the API. */
interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Who is told of requests of receivers as they arrive. */
interface Ears {
  got(receiver: string, got: Got): void;
  readonly calm: Calm;
}

export class Outside {
  readonly place = place('outside');
  readonly receivers: readonly Receiver[];
  /** What pages people: gets alerts as events. */
  readonly pager: Receiver = { name: 'pager', url: 'http://127.0.0.1:8200/pages', got: [], mood: null, share: 1 };
  readonly slackUrl = 'http://127.0.0.1:8201/services/T0000/B0000/secret';
  /** What Slack was sent. */
  readonly said: Said[] = [];
  simulator!: ReturnType<typeof createSimulator>;
  readonly #ears: Ears;
  readonly #shell: Shell;
  readonly #seed: number;
  /** Connections of this world alone: one that is kept from the world before leads nowhere. */
  readonly #agent = new Agent();
  readonly #chance: Random;
  /** The share of its requests that Slack does not answer well; the pager, too. */
  #fickle: number;
  /** The share of a shop's calls whose answer gets lost, or that arrive twice. */
  calls: { readonly lost?: number; readonly doubled?: number } = {};
  /** Purchases that a shop asked for. */
  readonly #asked: string[] = [];

  constructor(shell: Shell, { seed, receivers }: Pick<Plan, 'seed' | 'receivers'>, ears: Ears) {
    this.#shell = shell;
    this.#ears = ears;
    this.#seed = seed;
    this.#chance = createRandom(seed + 0x51ac);
    this.#fickle = this.#chance.one([0, 0.1, 0.4]);
    this.receivers = Array.from({ length: receivers }, (_, index) => ({
      name: `shop${index}`,
      url: `http://127.0.0.1:${8100 + index}/hook`,
      got: [],
      mood: null,
      share: 1,
    }));
  }

  /** Opens service and receivers. */
  async open(): Promise<void> {
    const { scheduler } = this.#shell;
    let isOpen = false;
    scheduler.in(this.place, () => {
      this.simulator = createSimulator({ now: () => scheduler.begin + scheduler.now, seed: this.#seed });
      void this.simulator.start().then(() => {
        isOpen = true;
      });
      for (const receiver of [...this.receivers, this.pager]) this.#receive(receiver);
      this.#slack();
    });
    await scheduler.run(1_000, () => isOpen);
  }

  /** Has the service make purchases that live by a script. Answers their ids. */
  make(count: number, script: Life | readonly ScriptStep[]): string[] {
    const ids = this.simulator.control.addMany(count, { script }).map(({ purchaseId }) => purchaseId);
    this.#asked.push(...ids);
    return ids;
  }

  /** The ids of every purchase that a shop asked for. */
  ids(): readonly string[] {
    return this.#asked;
  }

  /** What the service knows of a purchase, or null where it knows none of this id. */
  truth(purchaseId: string): Truth | null {
    return this.simulator.control.get(purchaseId);
  }

  /** Answers status and text of a shop's call to the API at a URL, or null where no answer came. */
  async call(url: string, call: Call): Promise<{ status: number; text: string } | null> {
    const { random } = this.#shell;
    const { lost = 0, doubled = 0 } = this.calls;
    const isLost = lost > 0 && random.chance(lost);
    const answers = [this.#send(url, call), ...(doubled > 0 && random.chance(doubled) ? [this.#send(url, call)] : [])];
    const [answer] = await Promise.all(answers);
    return isLost ? null : answer!;
  }

  async #send(url: string, { method, path, body, headers }: Call): Promise<{ status: number; text: string } | null> {
    try {
      const answer = await request(`${url}${path}`, {
        dispatcher: this.#agent,
        method,
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, text: await answer.body.text() };
    } catch {
      return null;
    }
  }

  /** Ends every fault. */
  mend(): void {
    this.simulator.control.clearFaults();
    this.simulator.control.setLatency(0);
    for (const receiver of this.receivers) receiver.mood = null;
    this.calls = {};
    this.#fickle = 0;
  }

  #receive(receiver: Receiver): void {
    const { scheduler } = this.#shell;
    const { hostname, port } = new URL(receiver.url);
    createServer((call, response) => {
      const chunks: Buffer[] = [];
      call.on('data', (chunk: Buffer) => chunks.push(chunk));
      call.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = call.headers;
        const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
        const signed = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
        const mood = receiver === this.pager ? this.#whim() : this.#moodOf(receiver);
        const accepted = takes(mood);
        const got = { at: scheduler.now, id: `${id}`, body, accepted, signed: `${signature}`.split(' ').includes(signed) };
        receiver.got.push(got);
        this.#ears.got(receiver.name, got);
        if (receiver !== this.pager) this.#time(receiver.name, got, { sentAt: Number(at) * 1_000, mood, response });
        answer(response, mood, scheduler.after.bind(scheduler));
      });
    }).listen(Number(port), hostname);
  }

  /** Has it noted when a request came and went. */
  #time(receiver: string, { id, body }: Got, how: { sentAt: number; mood: ReceiverMood | null; response: ServerResponse }): void {
    const { calm } = this.#ears;
    const now = (): number => this.#shell.scheduler.begin + this.#shell.scheduler.now;
    const { timestamp, data } = JSON.parse(body) as { timestamp: string; data: { purchaseId?: string; site?: string } };
    const madeAt = Date.parse(timestamp);
    const arrival = { receiver, id, lane: data.purchaseId ?? 'none', at: now(), madeAt, sentAt: how.sentAt };
    calm.arrived(arrival);
    how.response.on('close', () => calm.left(arrival, now(), how.mood === null));
  }

  #whim(): ReceiverMood | null {
    return this.#chance.chance(this.#fickle) ? this.#chance.one(MOODS) : null;
  }

  #moodOf({ mood, share }: Receiver): ReceiverMood | null {
    return share === 1 || this.#shell.random.chance(share) ? mood : null;
  }

  /** Slack as its incoming webhook is: says `ok` in so many letters. */
  #slack(): void {
    const { scheduler } = this.#shell;
    const { hostname, port } = new URL(this.slackUrl);
    createServer((call, response) => {
      const chunks: Buffer[] = [];
      call.on('data', (chunk: Buffer) => chunks.push(chunk));
      call.on('end', () => {
        const mood = this.#whim();
        const accepted = takes(mood);
        this.said.push({ at: scheduler.now, text: Buffer.concat(chunks).toString(), accepted });
        answer(response, mood, scheduler.after.bind(scheduler));
      });
    }).listen(Number(port), hostname);
  }
}

const takes = (mood: ReceiverMood | null): boolean => mood === null || ['lies', 'slow', 'forgets'].includes(mood);

function answer(response: ServerResponse, mood: ReceiverMood | null, after: (ms: number, act: () => void) => unknown): void {
  if (mood === null) response.end('ok');
  else if (mood === 'fails' || mood === 'lies') response.writeHead(500).end('no');
  else if (mood === 'closes' || mood === 'forgets') response.destroy();
  else if (mood === 'cuts') {
    response.writeHead(200, { 'content-length': 4 }).write('ok');
    after(20, () => response.destroy());
  } else if (mood === 'slow') after(3_000, () => response.end('ok'));
}
