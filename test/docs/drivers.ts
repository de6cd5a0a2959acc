/**
 * What calls the functions that examples export, by the exported name. `./example.ts` is the example; a driver throws
 * when it does not do what its page says.
 */
import { join } from 'node:path';
import { ROOT } from './examples.ts';

const SIGNED = `
import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';

const body = JSON.stringify({
  id: 'evt_1', type: 'purchase.state_changed', timestamp: new Date().toISOString(),
  data: { site: 'default', purchaseId: '2f1c9a7e', sequence: 1, from: null, to: { value: 2, name: 'Completed' }, price: 249.5 },
});
const headers = (text = body) => {
  const now = new Date();
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': new Webhook(process.env.WEBHOOK_SECRET).sign('evt_1', now, text),
  };
};
`;

/** A broker of its own for the example: both functions answer events until they are told that it is enough. */
function withBroker(broker: 'nats' | 'rabbitmq', body: string): string {
  const [server, missing, start] =
    broker === 'nats' ? ['nats-server', 'noNats', 'startNatsServer'] : ['rabbitmq-server', 'noRabbit', 'startRabbitServer'];
  return `
import assert from 'node:assert/strict';
import { ${missing}, ${start} } from ${JSON.stringify(join(ROOT, `test/support/${server}.ts`))};
import { createNatsChannel } from ${JSON.stringify(join(ROOT, 'src/channels/brokers/nats.ts'))};
import { createRabbitChannel } from ${JSON.stringify(join(ROOT, 'src/channels/brokers/rabbitmq.ts'))};

const eventOf = (sequence) => {
  const id = 'evt_' + sequence;
  const timestamp = '2026-11-20T09:15:02.123Z';
  const data = { site: 'se', purchaseId: 'p', sequence, from: null, to: { value: 2, name: 'Completed' } };
  const type = 'purchase.state_changed';
  return { id, type, body: JSON.stringify({ id, type, timestamp, data }) };
};
const common = { name: 'books', format: 'standard', keys: [{ key: process.env.BROKER_SECRET, until: null }], timeout: 5_000 };
/** Until there is a place for it; made an hour ago, as far as its signature tells. */
const send = async (channel, sequence) => {
  for (let attempt = 1; ; attempt++) {
    const { kind } = await channel.send(eventOf(sequence), { attempt, now: Date.now() - 3_600_000 });
    if (kind === 'delivered') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
if (${missing} === null) {
  const server = await ${start}({ config: 'no_auth_user: shop' });
  const seen = [];
  const apply = async (event) => {
    seen.push(event.data.sequence);
    return seen.length === 3 ? 'enough' : 'more';
  };
  let channel;
  try {
${body}
    for (const sequence of [1, 2, 3]) await send(channel, sequence);
    await following;
    assert.deepEqual(seen, [1, 2, 3]);
  } finally {
    await channel?.close();
    await server.stop();
  }
} else console.warn(${missing});
`;
}

export const DRIVERS: Readonly<Record<string, string>> = {
  checkoutBegan: `
import assert from 'node:assert/strict';
import { checkoutBegan } from './example.ts';
assert.equal(await checkoutBegan('2f1c9a7e', { number: 'ORD-1', cart: 7 }), false);
assert.equal(await checkoutBegan(' ', { number: 'ORD-1', cart: 7 }), false);
`,
  followPurchases: `
import assert from 'node:assert/strict';
import { followPurchases } from './example.ts';
const ending = new AbortController();
const seen = [];
let kept = null;
const shop = {
  readCursor: async () => kept,
  apply: async (events, cursor) => {
    seen.push(...events);
    kept = cursor;
    ending.abort();
  },
};
await followPurchases(shop, ending.signal);
assert.ok(seen.some((event) => event.type === 'purchase.state_changed'));
assert.ok(kept);
`,
  server: `${SIGNED}
import { once } from 'node:events';
import { server } from './example.ts';
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = 'http://127.0.0.1:' + server.address().port;
assert.equal((await fetch(address, { method: 'POST', body, headers: headers() })).status, 204);
assert.equal((await fetch(address, { method: 'POST', body: body + ' ', headers: headers() })).status, 401);
server.closeAllConnections();
server.close();
`,
  app: `${SIGNED}
import { app } from './example.ts';
const post = (text) => app.request('/hooks/purchases', { method: 'POST', body: text, headers: headers() });
assert.equal((await post(body)).status, 204);
assert.equal((await post(body + ' ')).status, 401);
`,
  followStream: `
import { followStream } from './example.ts';
${withBroker(
  'nats',
  `    channel = createNatsChannel({ url: server.url, subject: 'purchases.{site}.{type}', ...common });
    const following = followStream(server.url, apply);`,
)}`,
  followQueue: `
import { followQueue } from './example.ts';
${withBroker(
  'rabbitmq',
  `    channel = createRabbitChannel({ url: server.url, exchange: 'purchases', routingKey: '{type}', ...common });
    const following = followQueue(server.url, apply);`,
)}`,
  // As a login that may register and nothing else: an order and its registration commit together, or neither does.
  placeOrder: `
import assert from 'node:assert/strict';
import postgres from 'postgres';
const owner = postgres(process.env.DATABASE_URL, { max: 1, onnotice: () => undefined });
const shop = 'purchase_watch_test_shop_' + process.pid;
process.env.SHOP_DATABASE_URL = Object.assign(new URL(process.env.DATABASE_URL), { username: shop, password: 'secret' }).href;
await owner.unsafe(\`
  create table if not exists public.orders (id serial primary key, number text not null);
  create role \${shop} login password 'secret' in role purchase_watch_registrar;
  grant select, insert on public.orders to \${shop};
  grant usage on sequence public.orders_id_seq to \${shop};\`);
const example = await import('./example.ts');
try {
  const id = 'order-' + process.pid;
  const { order, registration } = await example.placeOrder('ORD-1', id);
  assert.deepEqual([order.number, registration.purchaseId, registration.site], ['ORD-1', id, 'default']);
  await assert.rejects(example.placeOrder('ORD-2', ' '));
  await assert.rejects(example.placeOrder('ORD-3', id));
  const orders = await owner\`select number from public.orders where id >= \${order.id}\`;
  assert.deepEqual([...orders], [{ number: 'ORD-1' }]);
  const registered = await owner\`select reference, metadata, registered_by from purchase_watch.purchases where purchase_id = \${id}\`;
  assert.deepEqual([...registered], [{ reference: 'ORD-1', metadata: { order: order.id }, registered_by: 'sql:' + shop }]);
} finally {
  await example.close();
  await owner.unsafe(\`drop owned by \${shop}; drop role \${shop}\`);
  await owner.end();
}
`,
  receive: `${SIGNED}
import { receive } from './example.ts';
assert.equal(receive(body, headers()), '2f1c9a7e');
assert.throws(() => receive(body + ' ', headers()));
`,
  // Every way of verifying is tried in receivers.test.ts; here, that it stands alone.
  verify: `${SIGNED}
import { verify } from './example.ts';
const old = 'whsec_' + Buffer.alloc(32).toString('base64');
assert.equal(verify(Buffer.from(body), headers(), [old, process.env.WEBHOOK_SECRET]).data.purchaseId, '2f1c9a7e');
assert.throws(() => verify(Buffer.from(body + ' '), headers(), [process.env.WEBHOOK_SECRET]));
`,
  verifyPublic: `
import assert from 'node:assert/strict';
import { verifyPublic } from './example.ts';
const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA v1a,AAAA' };
assert.equal(verifyPublic(Buffer.from('{}'), headers, 'whpk_' + Buffer.alloc(32, 1).toString('base64')), false);
`,
};
