/** The least that can be called polling: undici's `request`, JSON parsed, the state checked, nothing kept. */
import { Agent, request } from 'undici';
import { answer } from './answer.ts';
import { purchaseId } from './messages.ts';

interface Run {
  readonly url: string;
  readonly ids: { readonly from: number; readonly count: number };
  readonly inFlight: number;
  readonly ms: number;
}

const agents = new Map<string, Agent>();
let next = 0;

async function run({ url, ids, inFlight, ms }: Run): Promise<{ count: number; ms: number }> {
  const agent = agents.get(url) ?? new Agent({ connections: inFlight, pipelining: 1 });
  agents.set(url, agent);
  const headers = { authorization: 'Bearer bench', accept: 'application/json', 'content-type': 'application/json' };
  const started = performance.now();
  const until = started + ms;
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < until) {
      const id = purchaseId(ids.from + (next++ % ids.count));
      const body = `{"PurchaseId":"${id}"}`;
      const reply = await request(`${url}/CheckOut2Api/GetPaymentStatus`, { method: 'POST', headers, body, dispatcher: agent });
      const status = (await reply.body.json()) as { PurchaseId?: unknown; State?: unknown };
      if (reply.statusCode !== 200 || status.PurchaseId !== id || !Number.isInteger(status.State)) {
        throw new Error('the stand-in answered something else');
      }
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return { count, ms: performance.now() - started };
}

answer({ run });
