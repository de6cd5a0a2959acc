/** All that daemons deal with but the database: the checkout service, receivers, and shops that call the API. */
import { createHmac } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import type { Life, ReceiverMood } from './act.ts';
import { KEY } from './daemons.ts';
import type { Got, Truth } from './model.ts';
import type { Plan } from './plan.ts';
import type { Shell } from './world/process.ts';
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

export class Outside {
  readonly place = place('outside');
  readonly receivers: readonly Receiver[];
  simulator!: ReturnType<typeof createSimulator>;
  readonly #shell: Shell;
  readonly #seed: number;
  /** The share of a shop's calls whose answer gets lost, or that arrive twice. */
  calls: { readonly lost?: number; readonly doubled?: number } = {};
  /** Purchases that a shop asked for. */
  readonly #asked: string[] = [];

  constructor(shell: Shell, { seed, receivers }: Pick<Plan, 'seed' | 'receivers'>) {
    this.#shell = shell;
    this.#seed = seed;
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
      for (const receiver of this.receivers) this.#receive(receiver);
    });
    await scheduler.run(1_000, () => isOpen);
  }

  /** Has the service make purchases that live by a script. Answers their ids. */
  make(count: number, script: Life): string[] {
    const ids = this.simulator.control.addMany(count, { script }).map(({ purchaseId }) => purchaseId);
    this.#asked.push(...ids);
    return ids;
  }

  /** What the service knows of every purchase that a shop asked for. */
  truths(): Map<string, Truth> {
    const { control } = this.simulator;
    return new Map(this.#asked.map((id) => [id, { purchaseId: id, history: control.get(id)!.history }]));
  }

  /** Answers status and text of a shop's call to the API at a URL, or null where no answer came. */
  async call(url: string, call: Call): Promise<{ status: number; text: string } | null> {
    const { random } = this.#shell;
    const { lost = 0, doubled = 0 } = this.calls;
    const isLost = lost > 0 && random.chance(lost);
    const answers = [send(url, call), ...(doubled > 0 && random.chance(doubled) ? [send(url, call)] : [])];
    const [answer] = await Promise.all(answers);
    return isLost ? null : answer!;
  }

  /** Ends every fault. */
  mend(): void {
    this.simulator.control.clearFaults();
    for (const receiver of this.receivers) receiver.mood = null;
    this.calls = {};
  }

  #receive(receiver: Receiver): void {
    const { scheduler } = this.#shell;
    const { hostname, port } = new URL(receiver.url);
    createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
        const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
        const signed = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
        const mood = receiver.share === 1 || this.#shell.random.chance(receiver.share) ? receiver.mood : null;
        const accepted = mood === null || ['lies', 'slow', 'forgets'].includes(mood);
        receiver.got.push({ at: scheduler.now, id: `${id}`, body, accepted, signed: `${signature}`.split(' ').includes(signed) });
        answer(response, mood, scheduler.after.bind(scheduler));
      });
    }).listen(Number(port), hostname);
  }
}

function answer(response: ServerResponse, mood: ReceiverMood | null, after: (ms: number, act: () => void) => unknown): void {
  if (mood === null) response.end('ok');
  else if (mood === 'fails' || mood === 'lies') response.writeHead(500).end('no');
  else if (mood === 'closes' || mood === 'forgets') response.destroy();
  else if (mood === 'cuts') {
    response.writeHead(200, { 'content-length': 4 }).write('ok');
    after(20, () => response.destroy());
  } else if (mood === 'slow') after(3_000, () => response.end('ok'));
}

async function send(url: string, { method, path, body, headers }: Call): Promise<{ status: number; text: string } | null> {
  const { request } = await import('undici');
  try {
    const answer = await request(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  } catch {
    return null;
  }
}
