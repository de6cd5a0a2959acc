/** An HTTP server that answers each request with the next of an endless, seeded row of odd answers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type fc from 'fast-check';
import { sample, seedOf } from './hostile.ts';
import { play, type WireAnswer } from './wire-answers.ts';

/** A request as far as the answers depend on it. */
export interface Asked {
  readonly path: string;
  readonly body: string;
}

export interface HostileServer {
  readonly url: string;
  /** Odd answers given so far. */
  played(): number;
  /** From now on every answer is a good one, or the odd ones come again. */
  calm(is: boolean): void;
  stop(): Promise<void>;
}

const AHEAD = 200;

/** Answers without an end, the same for a seed. */
export function rowOf(answers: fc.Arbitrary<WireAnswer>, seed: number): () => WireAnswer {
  let ahead: WireAnswer[] = [];
  let part = 0;
  return () => {
    if (ahead.length === 0) {
      part += 1;
      ahead = sample(answers, AHEAD, seedOf(seed, part));
    }
    return ahead.pop()!;
  };
}

/** Starts it on a free port. `odd` decides an odd answer, null for a good one; `good` the text of a good one. */
export async function startHostileServer(
  odd: (asked: Asked) => WireAnswer | null,
  good: (asked: Asked, isCalm: boolean) => string,
): Promise<HostileServer> {
  let played = 0;
  let isCalm = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    // The daemon may break off what takes too long.
    request.on('error', () => undefined);
    request.on('end', () => {
      const asked = { path: request.url ?? '/', body: Buffer.concat(chunks).toString() };
      const answer = isCalm ? null : odd(asked);
      if (answer !== null) played += 1;
      play(answer ?? { status: 200, headers: [], body: good(asked, isCalm), spoil: null }, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    played: () => played,
    calm: (is) => {
      isCalm = is;
    },
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
