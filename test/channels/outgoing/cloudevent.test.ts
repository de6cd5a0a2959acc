import { expect, onTestFinished, test } from 'vitest';
import { toCloudEvent } from '../../../src/channels/outgoing/cloudevent.ts';
import { createWebhookChannel } from '../../../src/channels/webhook/webhook.ts';
import { type EventDraft, eventBody } from '../../../src/domain/events/make-event.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { startReceiver } from '../../support/receiver.ts';

const at = Date.UTC(2026, 10, 20, 9, 15, 2, 123);
const draft = (data: EventDraft['data'], type: EventDraft['type'] = 'purchase.state_changed'): string =>
  eventBody('evt_01JD', { type, sequence: null, at, state: null, data });
const PURCHASE = {
  site: 'se',
  purchaseId: '2f1c "9a7e"',
  sequence: 3,
  price: decimal('249.50'),
  note: '","data":{"id":"x"} Åsa 🦊\n',
};

test('an event of a purchase has all that CloudEvents knows of it', () => {
  const { data, ...attributes } = JSON.parse(toCloudEvent(draft(PURCHASE)));
  expect(attributes).toEqual({
    specversion: '1.0',
    id: 'evt_01JD',
    source: '/purchase-watch/sites/se',
    type: 'purchase.state_changed',
    subject: '2f1c "9a7e"',
    time: '2026-11-20T09:15:02.123Z',
    datacontenttype: 'application/json',
    sequence: '0000000003',
  });
  expect(data).toEqual({ ...PURCHASE, price: 249.5 });
});

test('data is the stored text, digit for digit', () => {
  const stored = draft({ ...PURCHASE, amount: decimal('12345678901234567890.10'), tiny: decimal('1E-7') });
  const data = stored.slice(stored.indexOf('"data":') + '"data":'.length, -1);
  expect(data).toContain('249.50');
  expect(toCloudEvent(stored).endsWith(`,"data":${data}}`)).toBe(true);
});

test.each([
  ['of a site', { site: 'fi', since: null }, { source: '/purchase-watch/sites/fi' }],
  ['of no site', { subscriber: 'shop', note: 'A test' }, { source: '/purchase-watch' }],
])('an event %s has no subject and no sequence', (_what, data, expected) => {
  const event = JSON.parse(toCloudEvent(draft(data, 'site.unreachable')));
  expect(event).toMatchObject({ ...expected, data });
  expect(event).not.toHaveProperty('subject');
  expect(event).not.toHaveProperty('sequence');
});

test('sequences have the same order as text as they have as numbers', () => {
  const numbers = [1, 2, 9, 10, 11, 99, 100, 2_147_483_647];
  const texts = numbers.map((sequence) => JSON.parse(toCloudEvent(draft({ ...PURCHASE, sequence }))).sequence as string);
  expect(texts.toSorted()).toEqual(texts);
});

test.each(['', '{}', '[]', '{"id":"evt_1"}', '{"type":"a","id":"b","timestamp":"c","data":{}}'])(
  '%j is no stored event',
  (text) => {
    expect(() => toCloudEvent(text)).toThrow('the text is no stored event');
  },
);

test('a webhook gets the same bytes on every attempt, and the official library verifies them', async () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const to = await startReceiver({ secret });
  onTestFinished(() => to.stop());
  const channel = createWebhookChannel({
    url: to.url,
    keys: [{ key: secret, until: null }],
    format: 'cloudevents',
    timeout: 10_000,
    allowAddresses: ['127.0.0.0/8'],
    concurrency: 1,
    userAgent: 'purchase-watch/test',
  });
  onTestFinished(() => channel.close());
  const event = { id: 'evt_01JD', type: 'purchase.state_changed', body: draft(PURCHASE) };
  for (let attempt = 1; attempt <= 3; attempt++)
    await channel.send(event, { attempt, now: Date.now() - 60_000 + attempt * 20_000 });
  expect(to.received.map(({ verified, id }) => [verified, id])).toEqual(Array(3).fill([true, 'evt_01JD']));
  expect(new Set(to.received.map(({ body }) => body))).toEqual(new Set([toCloudEvent(event.body)]));
  expect(to.received[0]?.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
});
