import { expect, test } from 'vitest';
import { openShop } from '../../src/demo/shop.ts';
import { createSigner } from '../../src/notifier/signature.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

test('the shop takes a signed event once and refuses a forged one', async () => {
  const arrived: string[] = [];
  let forged = 0;
  const shop = await openShop({
    secret: SECRET,
    onArrival: ({ event }) => arrived.push(event.id),
    onForged: () => {
      forged += 1;
    },
  });
  const timestamp = Math.floor(Date.now() / 1_000);
  const body = JSON.stringify({ id: 'evt_1', type: 'purchase.stuck', timestamp: new Date().toISOString(), data: { site: 'se' } });
  const post = async (signed: string) => {
    const signature = createSigner([SECRET])('evt_1', timestamp, signed);
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
    return (await fetch(shop.origin, { method: 'POST', headers, body })).status;
  };
  expect([await post(body), await post(body), await post('{}')]).toEqual([200, 200, 401]);
  expect({ arrived, forged }).toEqual({ arrived: ['evt_1'], forged: 1 });
  await shop.close();
});
