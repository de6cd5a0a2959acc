/** What is rehearsed under the settings that held is what was said. */

import { afterEach, expect, test } from 'vitest';
import { type RehearseOptions, rehearse } from '../../src/actions/rehearse/rehearse.ts';
import { channelRules } from '../../src/config/channels.ts';
import type { Settings } from '../../src/config/settings.ts';
import { isoTime } from '../../src/domain/values/time.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const CARD = 6;
const STUCK = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }];
const LOST = [...STUCK, { state: 'SessionTimedOut', after: '7m' }];
const PAID = [...STUCK, { state: 'Completed', after: '40s' }];

let t: TestApp;
afterEach(() => t.stop());

/** All goes faster than in a real shop, so that there is less to live through. */
function hurry(settings: Settings): void {
  setLimit(settings, 4 * MINUTE);
  settings.slack.quietFor = 2 * MINUTE;
  settings.slack.groupInterval = MINUTE;
}

function setLimit(settings: Pick<Settings, 'policy'>, stuckAfter: number): void {
  const states = new Map(settings.policy.states);
  states.set(CARD, { ...states.get(CARD)!, poll: { first: 20 * SECOND, growth: 0, most: 20 * SECOND }, stuckAfter });
  settings.policy = { ...settings.policy, states };
}

/** Lets time pass in one go: while the site does not answer, something is due at every moment. */
async function pass(milliseconds: number): Promise<void> {
  t.clock.advance(`${milliseconds}ms`);
  await t.app.pollOnce();
  await t.app.judgeOnce();
  await t.app.deliverOnce();
}

const optionsOf = (from: number, { policy }: Pick<Settings, 'policy'> = t.settings): RehearseOptions => ({
  from,
  to: t.clock.now(),
  policy,
  alerts: t.settings.slack,
  channels: channelRules(t.settings),
  site: null,
  silences: true,
});

test('the same settings say the same, other settings do not', { timeout: 180_000 }, async () => {
  t = await startTestApp({ change: hurry });
  const from = t.clock.now();
  for (let customer = 0; customer < 26; customer++) {
    const script = customer >= 2 && customer < 10 ? LOST : PAID;
    await t.watch({ script });
    await t.live(30 * SECOND);
  }
  await t.live(5 * MINUTE);
  const written = await t.app.sql`select count(*) from purchase_watch_internal.events`;
  const { messages, overdue, really } = await rehearse(t.app.sql, optionsOf(from));
  expect([overdue, really.overdue]).toEqual([8, 8]);
  expect(really.messages.map(({ type }) => type)).toContain('incident.ended');
  expect(messages.map(({ stage, channels }) => [`incident.${stage}`, channels])).toEqual(
    really.messages.map(({ type, channels }) => [type, channels]),
  );
  // The judge looks every five seconds, that of a test every ten.
  for (const [place, { at }] of messages.entries()) {
    const was = really.messages[place]!.at;
    expect(Math.abs(at - was), `${isoTime(at)} for ${isoTime(was)}`).toBeLessThanOrEqual(20 * SECOND);
  }
  expect(messages[0]!.incident.count).toBe((JSON.parse(really.messages[0]!.body) as { data: { count: number } }).data.count);

  const patient = { policy: t.settings.policy };
  setLimit(patient, 10 * MINUTE);
  expect(await rehearse(t.app.sql, optionsOf(from, patient))).toMatchObject({ messages: [], overdue: 0, really: { overdue: 8 } });
  expect(await t.app.sql`select count(*) from purchase_watch_internal.events`).toEqual(written);
});

test('time in which the site did not answer counts as little as it did', { timeout: 180_000 }, async () => {
  t = await startTestApp({ change: hurry });
  const from = t.clock.now();
  const ids = await Promise.all(Array.from({ length: 4 }, () => t.watch({ script: STUCK })));
  await t.live(2 * MINUTE);
  await t.simulator.control.down();
  for (let step = 0; step < 36; step++) await pass(10 * SECOND);
  await t.simulator.control.up();
  const seen = async () =>
    (await t.app.sql`select from purchase_watch.purchases where seen_at > to_timestamp(${t.clock.now() - MINUTE} / 1000.0)`)
      .length;
  await expect
    .poll(
      async () => {
        await pass(SECOND);
        return seen();
      },
      { interval: 100 },
    )
    .toBe(ids.length);
  // The poller measures on the process' own clock for how long purchases have been read.
  const failing = async () => (await t.app.sql`select from purchase_watch_internal.sites where failing_since is not null`).length;
  await expect
    .poll(
      async () => {
        await pass(SECOND);
        return failing();
      },
      { interval: 400 },
    )
    .toBe(0);
  await t.live(MINUTE);
  const early = await rehearse(t.app.sql, optionsOf(from));
  expect([early.overdue, early.really.overdue]).toEqual([0, 0]);
  expect(early.messages.map(({ stage, incident }) => [stage, incident.kind])).toEqual([
    ['opened', 'unreachable'],
    ['ended', 'unreachable'],
  ]);
  await t.live(4 * MINUTE);
  const late = await rehearse(t.app.sql, optionsOf(from));
  expect([late.overdue, late.really.overdue]).toEqual([4, 4]);
  expect(late.messages.map(({ stage }) => `incident.${stage}`)).toEqual(late.really.messages.map(({ type }) => type));
});
