/** A webhook receiver that answers by what it is sent, may take its time with it, and knows how many requests it has at once. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request. */
export interface Arrived {
  /** The event's id, and its exact text. */
  readonly id: string;
  readonly body: string;
  /** Both null for events that are not of a purchase. */
  readonly purchaseId: string | null;
  readonly sequence: number | null;
  /** By the clock that the test gave. */
  readonly at: number;
  /** Requests without an answer at that moment, this one included. */
  readonly inFlight: number;
  /** Answers given before, those that said yes. */
  readonly taken: number;
  /** What it was answered; null while it was not. */
  status: number | null;
}

export interface Steering {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SteeredReceiver {
  readonly url: string;
  readonly arrivals: readonly Arrived[];
  inFlight(): number;
  /** From now on requests are answered so; what is being answered already stays as it was. */
  steer(answer: (arrived: Arrived) => Steering | Promise<Steering>): void;
  /** Whose clock the arrivals are dated by. */
  datedBy(now: () => number): void;
  /** The sequences of a purchase's events that were answered with yes, in the order they came. */
  takenOf(purchaseId: string): number[];
  stop(): Promise<void>;
}

/** Starts one that takes everything at once, until it is steered. */
export async function startSteeredReceiver(): Promise<SteeredReceiver> {
  const arrivals: Arrived[] = [];
  let answer: (arrived: Arrived) => Steering | Promise<Steering> = () => ({ status: 200 });
  let now: () => number = Date.now;
  let inFlight = 0;
  let taken = 0;

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { purchaseId = null, sequence = null } = JSON.parse(body).data;
    inFlight += 1;
    const id = String(request.headers['webhook-id']);
    const arrived: Arrived = { id, body, purchaseId, sequence, at: now(), inFlight, taken, status: null };
    arrivals.push(arrived);
    const { status, headers = {} } = await answer(arrived);
    inFlight -= 1;
    arrived.status = status;
    if (status < 300) taken += 1;
    response.writeHead(status, headers).end('answered');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrivals,
    inFlight: () => inFlight,
    steer: (next) => {
      answer = next;
    },
    datedBy: (clock) => {
      now = clock;
    },
    takenOf: (purchaseId) =>
      arrivals.filter((each) => each.purchaseId === purchaseId && each.status === 200).map(({ sequence }) => sequence!),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
