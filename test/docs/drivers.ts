/**
 * What calls the functions that examples export, by the exported name. `./example.ts` is the example; a driver throws
 * when it does not do what its page says.
 */

const SIGNED = `
import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';

const body = JSON.stringify({
  id: 'evt_1', type: 'purchase.state_changed', timestamp: new Date().toISOString(),
  data: { site: 'default', purchaseId: '2f1c9a7e', sequence: 1, from: null, to: { value: 2, name: 'Completed' }, price: 249.5 },
});
const headers = (text = body) => ({
  'webhook-id': 'evt_1',
  'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
  'webhook-signature': new Webhook(process.env.WEBHOOK_SECRET).sign('evt_1', new Date(), text),
});
`;

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
  receive: `${SIGNED}
import { receive } from './example.ts';
assert.equal(receive(body, headers()), '2f1c9a7e');
assert.throws(() => receive(body + ' ', headers()));
`,
};
