/** What is sent again never goes before what is new. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../api/api.ts';
import { change, keepUp, statusesOf, watchMany } from '../support/changes.ts';
import { type Arrived, type SteeredReceiver, startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

/** What the subscriber may be sent at once. */
const LIMIT = 8;

let t: TestApp;
let api: TestApi;
let receiver: SteeredReceiver;
beforeEach(async () => {
  receiver = await startSteeredReceiver();
  t = await startTestApp({
    env: { WEBHOOK_URL: receiver.url },
    change: ({ webhooks }) => Object.assign(webhooks, { concurrency: LIMIT }),
  });
  receiver.datedBy(t.clock.now);
  api = await startTestApi({ sql: t.app.sql });
});
afterEach(async () => {
  await api.stop();
  await t.stop();
  await receiver.stop();
});

/** Answers one request at a time, when the test says so. */
function gate() {
  const held: (() => void)[] = [];
  let isOpen = false;
  receiver.steer(async () => {
    if (!isOpen) await new Promise<void>((resolve) => held.push(resolve));
    return { status: 200 };
  });
  return {
    letOne: () => held.shift()?.(),
    open: () => {
      isOpen = true;
      for (const answer of held.splice(0)) answer();
    },
  };
}
const replayAll = async (): Promise<number> => {
  const since = new Date(t.clock.now() - 24 * 3_600_000).toISOString();
  const answer = await api.call('POST', '/v1/subscribers/default/replay', { json: { since } });
  expect(answer.status, answer.text).toBe(200);
  keepUp(t);
  return answer.body.count;
};

test('while hundreds are replayed, what is new goes first, of the same purchases and of others', async () => {
  const ids = await watchMany(t, 100);
  for (const _ of [1, 2]) {
    t.clock.advance('1s');
    await change(t, ids);
  }
  await t.app.deliverOnce();
  const original = new Map(receiver.arrivals.map(({ id, body }) => [id, body]));
  expect(original.size).toBe(300);
  const before = receiver.arrivals.length;

  const { letOne, open } = gate();
  expect(await replayAll()).toBe(300);
  const telling = t.app.deliverOnce();
  await expect.poll(() => receiver.inFlight()).toBe(receiver.arrivals.length - before);
  await expect.poll(() => receiver.arrivals.length).toBeGreaterThan(before);
  for (let answered = 0; answered < 40; answered++) {
    const arrived = receiver.arrivals.length;
    letOne();
    await expect.poll(() => receiver.arrivals.length, { interval: 2 }).toBeGreaterThan(arrived);
  }
  const replayedSoFar = receiver.arrivals.length - before;
  expect(replayedSoFar).toBeLessThan(100);
  expect(receiver.inFlight()).toBeLessThanOrEqual(LIMIT);

  // Meanwhile: purchases that are being replayed change, and others appear.
  const changed = ids.slice(0, 30);
  await change(t, changed);
  const others = await watchMany(t, 30);
  const begin = receiver.arrivals.length;
  const isNew = ({ purchaseId, sequence }: Arrived): boolean => others.includes(purchaseId!) || sequence === 4;
  const alsoTelling = t.app.deliverOnce();
  // One answer, one more request: the new ones come, but for a few of the old that go in between so as not to starve.
  while (receiver.arrivals.slice(begin).filter(isNew).length < 60 && receiver.arrivals.length < before + 360) {
    const arrived = receiver.arrivals.length;
    letOne();
    await expect.poll(() => receiver.arrivals.length, { interval: 2 }).toBeGreaterThan(arrived);
  }
  const until = receiver.arrivals.slice(begin);
  expect(until.filter(isNew)).toHaveLength(60);
  // Besides: a new one waits for the end of what is sent again of its own purchase, and another goes meanwhile.
  expect(until.filter((each) => !isNew(each)).length, 'replayed ones before the last new one').toBeLessThanOrEqual(
    60 / 4 + 2 * LIMIT,
  );
  open();
  await Promise.all([telling, alsoTelling]);
  await t.app.deliverOnce();

  const later = receiver.arrivals.slice(before);
  expect(later).toHaveLength(360);
  const replayed = later.filter(({ id }) => original.has(id));
  expect(replayed).toHaveLength(300);
  expect(new Set(replayed.map(({ id }) => id)).size).toBe(300);
  for (const { id, body } of replayed) expect(body).toBe(original.get(id));
  let overtaken = 0;
  for (const id of ids) {
    const sequences = later.filter(({ purchaseId }) => purchaseId === id).map(({ sequence }) => sequence!);
    // In their order, both what is sent again and what is new.
    expect(sequences.filter((sequence) => sequence < 4)).toEqual([1, 2, 3]);
    if (!changed.includes(id)) continue;
    const sent = receiver.arrivals.slice(before, begin).filter(({ purchaseId }) => purchaseId === id).length;
    overtaken += sequences.indexOf(4) - sent;
  }
  // A new one goes before all of its own purchase's that had not left; a few leave while the new ones are being read.
  expect(overtaken).toBeGreaterThanOrEqual(0);
  expect(overtaken).toBeLessThanOrEqual(LIMIT);
  expect(await statusesOf(t, 'default')).toEqual({ delivered: 360 });
});

test('a replay to a subscriber that is paused waits with the rest, and what is new goes first when it is well again', async () => {
  const ids = await watchMany(t, 20);
  await t.app.deliverOnce();
  receiver.steer(() => ({ status: 503 }));
  for (const id of ids.slice(0, 4)) {
    await change(t, [id]);
    await t.app.deliverOnce();
  }
  const before = receiver.arrivals.length;
  expect(await replayAll()).toBeGreaterThanOrEqual(20);
  await change(t, ids.slice(4));
  t.clock.advance('30s');
  await t.app.deliverOnce();
  expect(receiver.arrivals).toHaveLength(before);
  receiver.steer(() => ({ status: 200 }));
  for (let step = 0; step < 20; step++) {
    t.clock.advance('20s');
    await t.app.deliverOnce();
  }
  expect(await statusesOf(t, 'default')).toEqual({ delivered: 40 });
  for (const id of ids.slice(4)) {
    const sequences = receiver.arrivals.slice(before).filter(({ purchaseId }) => purchaseId === id);
    expect(sequences.map(({ sequence }) => sequence)).toEqual([2, 1]);
  }
});
