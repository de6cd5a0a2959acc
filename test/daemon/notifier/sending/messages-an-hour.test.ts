/** So many messages an hour, and what becomes of a channel that is broken: the real notifier with a real database. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listDeliveries } from '../../../../src/postgres/deliveries/delivery-list.ts';
import { hearingChannels } from '../../../../src/postgres/subscribers/symptoms.ts';
import { startChannels, type TestChannels } from '../../../support/channels.ts';
import { SLACK_ANSWERS } from '../../../support/slack-stand-in.ts';

let t: TestChannels;
afterEach(() => t?.stop());

describe('with five messages an hour', () => {
  beforeEach(async () => {
    t = await startChannels({ maxPerHour: 5 });
  });
  const sent = (): number => t.slack.received.length;
  const last = (): string => t.slack.received.at(-1)!.text;

  /** Three messages within minutes: all that the hour has for what is not critical. */
  async function useUp(): Promise<void> {
    for (let times = 0; times < 3; times++) {
      await t.announce(1);
      await t.daemon.deliver();
      t.clock.advance('90s');
    }
    expect(sent()).toBe(3);
  }

  test('the fourth waits until the first is an hour old, and all that waits is one message that says why', async () => {
    await useUp();
    for (let times = 0; times < 5; times++) {
      await t.announce(1);
      t.clock.advance('10m');
      await t.daemon.deliver();
    }
    expect(sent()).toBe(3);
    expect(await t.statuses()).toEqual({ delivered: 3, pending: 5 });
    t.clock.advance('6m');
    await t.daemon.deliver();
    expect(sent()).toBe(4);
    expect(await t.statuses()).toEqual({ delivered: 8 });
    expect(last()).toMatch(/5 messages in one, because .*slack\.maxPerHour/);
    expect(last()).not.toContain('a-secret-path');
  });

  test('news of something critical does not wait, and takes along what did', async () => {
    await useUp();
    await t.announce(2);
    await t.daemon.deliver();
    expect(sent()).toBe(3);
    await t.announce(1, { severity: 'critical' });
    t.clock.advance('6s');
    await t.daemon.deliver();
    expect(sent()).toBe(4);
    expect(await t.statuses()).toEqual({ delivered: 6 });
    await t.announce(1, { severity: 'critical', type: 'incident.reminder' });
    t.clock.advance('6s');
    await t.daemon.deliver();
    expect(sent()).toBe(4);
    await t.announce(1, { severity: 'critical', type: 'incident.grew' });
    t.clock.advance('6s');
    await t.daemon.deliver();
    expect(sent()).toBe(5);
    // Not even for those is there more than the cap.
    await t.announce(3, { severity: 'critical' });
    t.clock.advance('6s');
    await t.daemon.deliver();
    expect(sent()).toBe(5);
  });

  test('a restart and another daemon know how many there were', async () => {
    await useUp();
    await t.daemon.vanish();
    const other = await t.another();
    await t.announce(1);
    await other.deliver();
    t.clock.advance('50m');
    await other.deliver();
    expect(sent()).toBe(3);
    t.clock.advance('11m');
    await other.deliver();
    expect(sent()).toBe(4);
  });

  test('what left together counts as one, and what Slack refused as none', async () => {
    t.slack.respond(SLACK_ANSWERS.broken);
    await t.announce(1);
    await t.daemon.deliver();
    for (let times = 0; times < 3; times++) {
      await t.announce(10);
      t.clock.advance('8s');
      await t.daemon.deliver();
    }
    expect(sent()).toBe(4);
    expect(await t.statuses()).toEqual({ delivered: 31 });
  });
});

describe('with two channels', () => {
  beforeEach(async () => {
    t = await startChannels({ ops: {} });
  });

  test.each([SLACK_ANSWERS.noService, SLACK_ANSWERS.archived, SLACK_ANSWERS.prohibited, { status: 403, body: 'invalid_token' }])(
    'one that answers %j is switched off, and the other one goes on',
    async (answer) => {
      t.ops.respondAlways(answer);
      await t.announce(5);
      await t.daemon.deliver();
      expect([t.ops.received.length, t.slack.received.length]).toEqual([1, 1]);
      expect(await t.statuses('@slack')).toEqual({ delivered: 5 });
      expect(await t.statuses('@slack-ops')).toEqual({ pending: 5 });
      const [row] =
        await t.sql`select status, status_reason as reason from purchase_watch_internal.subscribers where name = '@slack-ops'`;
      expect(row).toMatchObject({ status: 'off', reason: expect.stringContaining('set slack.channels.ops.webhookUrl to it') });
      expect(await hearingChannels(t.sql, t.clock.now())).toEqual(['@slack']);
      const [said] = t.log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'subscriber.switched_off');
      expect(said).toMatchObject({ level: 'error', subscriber: '@slack-ops' });
      expect(JSON.stringify(t.log)).not.toContain('a-secret-path');
      // The second way out: what is about it goes to the other one.
      await t.announce(1, { about: '@slack-ops' });
      await t.daemon.deliver();
      expect([t.ops.received.length, t.slack.received.length]).toEqual([1, 2]);
      // What comes while it is off waits for its return, and is shown as that.
      await t.announce(1);
      expect(await t.statuses('@slack-ops')).toEqual({ pending: 6 });
      const parked = await listDeliveries(t.sql, {
        filter: { subscriber: '@slack-ops', status: 'parked' },
        before: null,
        limit: 10,
      });
      expect(parked.map(({ reason }) => reason)).toEqual(Array(6).fill(expect.stringMatching(/^switched off: Slack refuses/)));
    },
  );

  test('one that asks for fewer messages does not hold back the other', async () => {
    t.ops.respondAlways(SLACK_ANSWERS.rateLimited);
    await t.announce(2);
    await t.daemon.deliver();
    expect(await t.statuses('@slack')).toEqual({ delivered: 2 });
    expect(t.ops.received).toHaveLength(1);
  });
});
