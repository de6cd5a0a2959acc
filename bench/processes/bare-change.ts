/**
 * The least that can be called telling of a change: undici's `request` at the same pace as the daemon, the state compared with
 * the last one, a row committed for a change, and a signed webhook posted. Polls without a change are not recorded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { connect } from '../../src/postgres/connection/database.ts';
import { answer } from './answer.ts';
import { purchaseId } from './messages.ts';
import { signedHeaders } from './signed-headers.ts';

export interface BareChangeRun {
  readonly service: string;
  readonly receiver: string;
  readonly databaseUrl: string;
  readonly secret: string;
  readonly purchases: number;
  /** From one poll of a purchase to its next, in milliseconds. */
  readonly every: number;
  readonly inFlight: number;
  readonly ms: number;
}

async function run(settings: BareChangeRun): Promise<void> {
  const { service, databaseUrl, purchases, every, inFlight, ms } = settings;
  const sql = connect(databaseUrl, { max: 4, steadyPlans: true });
  await sql`create table if not exists bare_changes (id bigint generated always as identity primary key, purchase text not null, body text not null)`;
  const agent = new Agent({ connections: inFlight, pipelining: 1 });
  const headers = { authorization: 'Bearer bench', accept: 'application/json', 'content-type': 'application/json' };
  const states = new Map<number, number>();
  const started = performance.now();
  let next = 0;

  const tell = async (index: number, value: number): Promise<void> => {
    const id = purchaseId(index);
    const body = JSON.stringify({ type: 'purchase.state_changed', data: { purchaseId: id, sequence: next, to: { value } } });
    const [row] = await sql<[{ id: number }]>`insert into bare_changes (purchase, body) values (${id}, ${body}) returning id`;
    const signed = signedHeaders({ id: `bare_${row.id}`, body, secret: settings.secret });
    const reply = await request(settings.receiver, { method: 'POST', headers: signed, body, dispatcher: agent });
    await reply.body.dump();
  };
  const poll = async (index: number): Promise<void> => {
    const body = `{"PurchaseId":"${purchaseId(index)}"}`;
    const reply = await request(`${service}/CheckOut2Api/GetPaymentStatus`, { method: 'POST', headers, body, dispatcher: agent });
    const { State: state } = (await reply.body.json()) as { State: number };
    const before = states.get(index);
    states.set(index, state);
    // Without waiting: the next poll does not depend on it.
    if (before !== undefined && before !== state) void tell(index, state);
  };
  const worker = async (): Promise<void> => {
    for (;;) {
      const turn = next++;
      const due = started + (turn * every) / purchases;
      if (due > started + ms || performance.now() > started + ms) return;
      const wait = due - performance.now();
      if (wait > 0) await delay(wait);
      await poll(turn % purchases);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  // The last webhooks are on their way.
  await delay(500);
  await sql.end();
  await agent.close();
}

answer({ run });
