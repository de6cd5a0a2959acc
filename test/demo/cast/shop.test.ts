import { expect, test } from 'vitest';
import { createSigner } from '../../../src/channels/outgoing/signature.ts';
import { openShop, type ShopEvent } from '../../../src/demo/cast/shop.ts';
import { createNarrator } from '../../../src/demo/terminal/narrator.ts';

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

test('what is about no purchase is told in a line, too', () => {
  const lines: string[] = [];
  const narrator = createNarrator({ write: (line) => void lines.push(line), paint: (_, text) => text, terminal: null });
  const timestamp = new Date().toISOString();
  const tested: ShopEvent = { id: 'evt_1', type: 'subscriber.test', timestamp, data: { subscriber: 'shop', note: 'a test' } };
  const outage = { site: 'demo-se', since: timestamp, reason: null, lastError: null };
  const away: ShopEvent = { id: 'evt_2', type: 'site.unreachable', timestamp, data: outage };
  for (const event of [tested, away]) narrator.arrival({ event, at: 0, took: 3 });
  narrator.stop();
  expect(lines.map((line) => line.slice(10).trim())).toEqual([
    expect.stringMatching(/^a test: it arrives, and is well signed +webhook ✓ +3 ms$/),
    expect.stringMatching(/^demo-se +site.unreachable +webhook ✓ +3 ms$/),
  ]);
});
