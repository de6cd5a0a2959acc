/** The least that can be called sending: undici's `request` with bytes and signature ready, the status checked. */
import { Agent, request } from 'undici';
import { answer } from './answer.ts';

interface Run {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly inFlight: number;
  readonly count: number;
}

const agents = new Map<string, Agent>();

async function run({ url, headers, body, inFlight, count }: Run): Promise<{ count: number; ms: number }> {
  const agent = agents.get(url) ?? new Agent({ connections: inFlight, pipelining: 1 });
  agents.set(url, agent);
  const started = performance.now();
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const reply = await request(url, { method: 'POST', headers, body, dispatcher: agent });
      await reply.body.dump();
      if (reply.statusCode !== 200) throw new Error(`the receiver answered ${reply.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { count, ms: performance.now() - started };
}

answer({ run });
