/** How soon lists, single purchases, the feed and the overview answer where a million purchases and five million events are kept. */
import { Agent, request } from 'undici';
import { AS_MACHINE } from '../test/support/machine.ts';
import { timesOf } from './answer-times.ts';
import { type ArchiveSize, anyPurchase, eventId, fillArchive } from './archive.ts';
import type { Bench } from './bench.ts';
import { purchaseId } from './processes/messages.ts';
import type { Row } from './report.ts';

const FULL: ArchiveSize = { purchases: 1_000_000, events: 5 };
const QUICK: ArchiveSize = { purchases: 50_000, events: 5 };
/** What is asked, by name: a path for each time it is asked. */
const QUESTIONS: Readonly<Record<string, (size: ArchiveSize) => string>> = {
  'list, no filter': () => '/v1/purchases',
  'list, state': () => '/v1/purchases?state=WaitingForIdentityProvider',
  'list, status': () => '/v1/purchases?status=settled&limit=100',
  'list, stuck': () => '/v1/purchases?stuck=true',
  'list, site and state': () => '/v1/purchases?site=fi&state=Completed',
  'list, site, not stuck': () => '/v1/purchases?site=no&stuck=false',
  'list, reference': (size) => `/v1/purchases?reference=ORD-${anyPurchase(size).number}`,
  'read a purchase': (size) => `/v1/purchases/${anyPurchase(size).id}`,
  'feed, 100 from anywhere': (size) => `/v1/events?limit=100&after=${eventId(anyPurchase(size).number, 1)}`,
  'feed, 1 000 from anywhere': (size) => `/v1/events?limit=1000&after=${eventId(anyPurchase(size).number, 1)}`,
  'feed, a rare type from anywhere': (size) =>
    `/v1/events?types=purchase.stuck&limit=100&after=${eventId(anyPurchase(size).number, 1)}`,
  'feed, a type that never came': (size) => `/v1/events?types=purchase.expired&after=${eventId(anyPurchase(size).number, 1)}`,
  'feed, nothing new': () => '/v1/events?after=latest',
  'deliveries, no filter': () => '/v1/deliveries',
  'deliveries, exhausted': () => '/v1/deliveries?status=exhausted',
  'deliveries, one subscriber': () => '/v1/deliveries?subscriber=archive',
  'deliveries, one purchase': (size) => `/v1/deliveries?purchase=${anyPurchase(size).id}`,
  why: (size) => `/v1/purchases/${anyPurchase(size).id}/why`,
  overview: () => '/v1/overview',
  'a past moment': () => '/v1/then?at=30h',
};
const BATCH = 1_000;
/** The usual one: what was registered is polled meanwhile as it would be, not as fast as two cores can. */
const CEILING = '50';

export const read: Bench = async (lab, { quick, say }) => {
  const size = quick ? QUICK : FULL;
  const times = quick ? 100 : 400;
  const database = await lab.database();
  await fillArchive(database.sql, size, say);
  const { daemon } = await lab.daemon(database, { every: null, api: true, env: { CHECKOUT_MAX_RPS: CEILING } });
  const url = await daemon.ask<string>('url');
  const agent = new Agent({ connections: 4 });
  const rows: Row[] = [];
  for (const [what, path] of Object.entries(QUESTIONS)) {
    rows.push(...(await timesOf(agent, { what, times, url: () => `${url}${path(size)}`, headers: AS_MACHINE, atMost: 50, say })));
  }
  const batches: number[] = [];
  for (let batch = 0; batch < 5; batch++) {
    const first = size.purchases + batch * BATCH;
    const purchases = Array.from({ length: BATCH }, (_, index) => ({
      purchaseId: purchaseId(first + index),
      reference: `ORD-${index}`,
      metadata: { cart: index },
    }));
    const begun = performance.now();
    const { statusCode, body } = await request(`${url}/v1/purchases/batch`, {
      method: 'POST',
      dispatcher: agent,
      headers: { ...AS_MACHINE, 'content-type': 'application/json' },
      body: JSON.stringify({ purchases }),
    });
    const answer = (await body.json()) as { created: number };
    if (statusCode !== 200 || answer.created !== BATCH) throw new Error(`batch: HTTP ${statusCode}`);
    batches.push(performance.now() - begun);
    say(`batch ${batch + 1}: ${batches.at(-1)!.toFixed(0)} ms`);
  }
  rows.push({ what: `${BATCH} registered at once, slowest of 5`, value: Math.max(...batches), unit: 'ms', atMost: 2_000 });
  await agent.close();
  await daemon.stop();
  await database.drop();
  return {
    bench: 'read',
    how: `over HTTP, one question after the other, ${times} of each, at ${size.purchases} purchases and ${size.purchases * size.events} events`,
    rows,
  };
};
