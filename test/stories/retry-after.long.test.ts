/** A receiver that asks for a rest gets the next try when the rest is over: not before, and within a second after it. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { secretsOf } from '../../src/actions/subscribers/secrets.ts';
import { addSubscriber } from '../../src/actions/subscribers/subscribers.ts';
import { announce } from '../support/announce.ts';
import { watchStalls } from '../support/stalls.ts';
import type { Arrived, SteeredReceiver, Steering } from '../support/steered-receiver.ts';
import { startSteeredReceiver } from '../support/steered-receiver.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
let t: TestApp;
let receivers: SteeredReceiver[] = [];
afterEach(async () => {
  await t.stop();
  await Promise.all(receivers.map((each) => each.stop()));
  receivers = [];
});

const asDate = (seconds: number): string => new Date(Date.now() + seconds * SECOND).toUTCString();
/** So long after its first refusal, requests may come that had left before the refusal was known to both replicas. */
const KNOWN_WITHIN = 0.5 * SECOND;

/** A receiver that asks for so many seconds of rest, again in each round, and takes everything after it. */
async function resting(name: string, status: number, seconds: number, header: (seconds: number) => string) {
  const receiver = await startSteeredReceiver();
  receivers.push(receiver);
  let asked = Number.NaN;
  receiver.steer(({ at }): Steering => {
    if (Number.isNaN(asked)) asked = at;
    return at - asked < KNOWN_WITHIN ? { status, headers: { 'retry-after': header(seconds) } } : { status: 200 };
  });
  const means = { sql: t.app.sql, secrets: secretsOf(t.settings) };
  await addSubscriber(means, { name, url: receiver.url, types: null, sites: null, states: null, description: null });
  return {
    name,
    receiver,
    seconds,
    again: () => {
      asked = Number.NaN;
    },
  };
}

/** For each event how long after the last refusal before it was taken, in milliseconds. */
function waitsOf(arrivals: readonly Arrived[]): number[] {
  return arrivals.flatMap(({ status, at }, place) => {
    const refused = arrivals.slice(0, place).findLast((each) => each.status !== 200);
    return status === 200 && refused !== undefined ? [Math.round(at - refused.at)] : [];
  });
}

test('the wait that a receiver asks for is kept to the second, by two replicas, whenever the receiver asks', async () => {
  t = await startTestApp({
    realClock: true,
    env: { SECRETS_KEY: 'an encryption key of many characters' },
    change: (settings) => {
      settings.webhooks.schedule = [SECOND, ...settings.webhooks.schedule];
    },
  });
  const all = [
    await resting('one', 429, 1, String),
    await resting('two', 503, 2, String),
    await resting('three', 503, 3, String),
    await resting('four', 429, 4, asDate),
    await resting('seven', 503, 7, String),
    await resting('twelve', 503, 12, asDate),
  ];
  await t.app.start();
  await (await t.another()).start();
  const owners = () => t.app.sql`select owner from purchase_watch_internal.shards group by owner having count(*) = 32`;
  await expect.poll(owners, { timeout: 30 * SECOND }).toHaveLength(2);
  const stalls = watchStalls();
  // At several moments between two of the sweeps that the notifiers make every five seconds.
  for (let round = 1; round <= 3; round++) {
    for (const { again } of all) again();
    for (let count = 0; count < 4; count++) await t.watch({ script: [{ state: 'New' }] });
    const taken = ({ receiver }: (typeof all)[number]) => receiver.arrivals.filter(({ status }) => status === 200).length;
    await expect.poll(() => all.map(taken), { timeout: 40 * SECOND, interval: 50 }).toEqual(all.map(() => 4 * round));
    await delay(1_300);
  }
  stalls.stop();
  // What this process was kept from for a moment is late by that: the receivers' part, and the daemons'.
  const most = (seconds: number): number => (seconds + 1 + 2 * stalls.longest()) * SECOND;
  const late = all.flatMap(({ name, receiver, seconds }) =>
    waitsOf(receiver.arrivals)
      .filter((wait) => wait < seconds * SECOND - 5 || wait > most(seconds))
      .map((wait) => `${name}: ${wait}`),
  );
  expect(late).toEqual([]);
}, 120_000);

test('the wait that Slack asks for is kept to the second', async () => {
  t = await startTestApp({ realClock: true, inventsEvents: true });
  await t.app.start();
  const since = new Date(Date.now() - 600_000).toISOString();
  const data = {
    ...{ incidentId: 'inc_1', kind: 'stuck', site: 'shop', state: { value: 6, name: 'WaitingForCardPayments' } },
    ...{
      openedAt: since,
      endedAt: null,
      since,
      severity: 'warning',
      count: 3,
      peak: 3,
      limitMs: 600_000,
      purchases: [],
      waiting: [],
    },
  };
  const limit = (seconds: number) => ({ status: 429, headers: { 'retry-after': String(seconds) }, body: 'rate_limited' });
  t.slack.respond(limit(2), limit(3), limit(1));
  await announce(t.app.sql, { type: 'incident.opened', data });
  await expect.poll(() => t.slack.received, { timeout: 20 * SECOND }).toHaveLength(4);
  const at = t.slack.received.map((each) => each.at);
  for (const [index, seconds] of [2, 3, 1].entries()) {
    const wait = at[index + 1]! - at[index]!;
    expect(wait).toBeGreaterThanOrEqual(seconds * SECOND);
    expect(wait).toBeLessThanOrEqual((seconds + 1) * SECOND);
  }
}, 60_000);

test.each(['429-seconds', '429-date', '503'] as const)(
  'the wait that the checkout service asks for with %s is kept to the second',
  async (kind) => {
    t = await startTestApp({ realClock: true });
    await t.app.start();
    const asked = 3;
    t.simulator.control.fail({ kind, only: 'status', retryAfter: asked });
    const purchase = await t.watch({ script: [{ state: 'New' }] });
    const called = (times: number) =>
      expect.poll(() => t.simulator.control.callsOf(purchase), { timeout: 20 * SECOND, interval: 10 }).toBe(times);
    await called(1);
    const refusedAt = performance.now();
    await called(2);
    const wait = performance.now() - refusedAt;
    // A date has whole seconds, and the first call is noticed a moment late.
    expect(wait).toBeGreaterThanOrEqual(asked * SECOND - (kind === '429-date' ? SECOND : 100));
    expect(wait).toBeLessThanOrEqual((asked + 1) * SECOND);
  },
  60_000,
);
