import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { startSlackStandIn } from '../support/slack-stand-in.ts';
import { ALL_PASSES, startTestApp } from '../support/test-app.ts';

test('purchases from before the first start are one first look, and a digest tells who is stuck, once from two daemons', async () => {
  const t = await startTestApp({
    change: (settings) => {
      settings.slack.digest = '*/30 * * * *';
      settings.sites[0]!.timeZone = 'Asia/Kathmandu';
    },
  });
  try {
    // Right after the moment of a digest: the next one finds all of them stuck, and none of them just becoming so.
    const sinceDigest = (new Date(t.clock.now()).getUTCMinutes() + 15) % 30;
    t.clock.advance(`${31 - sinceDigest}m`);
    for (let each = 0; each < 3; each++) await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
    const other = await t.another();
    const headlines = () => t.slack.received.map(({ text }) => text.split('\n')[0]!);
    const live = (minutes: number, by: readonly App[]): Promise<void> =>
      t.liveInSteps(minutes * 60_000, { step: 60_000, passes: ALL_PASSES, by });
    await live(55, [t.app, other]);
    await other.stop();
    await live(2, [t.app]);
    expect(headlines().filter((line) => line.includes('First look'))).toEqual([expect.stringContaining('default: 3 purchases')]);
    const rows = await t.app.sql<{ at: number }[]>`
      select created_at as at from purchase_watch_internal.events where type = 'incident.digest' order by position`;
    // By the clock of Kathmandu, which is five hours and three quarters ahead.
    expect(rows.map(({ at }) => new Date(at).getUTCMinutes() % 30).filter((minute) => minute !== 15)).toEqual([]);
    const digests = headlines().filter((line) => line.includes('Digest'));
    expect(digests.length).toBeGreaterThanOrEqual(1);
    expect(digests).toEqual(rows.map(() => '📋 Digest of default: no incidents, 3 purchases stuck now'));
    expect(t.slack.received.flatMap(({ problem }) => problem ?? [])).toEqual([]);
  } finally {
    await t.stop();
  }
});

test('a channel for what is critical gets neither a first look nor digests', async () => {
  const onCall = await startSlackStandIn();
  const t = await startTestApp({
    change: (settings) => {
      const [first] = settings.channels;
      const critical = { ...first!, name: 'on-call', webhookUrl: onCall.url, severity: 'critical' } as const;
      settings.slack.digest = '*/30 * * * *';
      settings.channels = [first!, critical];
    },
  });
  onTestFinished(async () => {
    await t.stop();
    await onCall.stop();
  });
  for (let each = 0; each < 3; each++) await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  for (let minute = 0; minute < 57; minute++) {
    t.clock.advance('1m');
    await t.app.pollOnce();
    await t.app.judgeOnce();
    await t.app.deliverOnce();
  }
  const headlines = t.slack.received.map(({ text }) => text.split('\n')[0]);
  expect(headlines).toContainEqual(expect.stringContaining('First look'));
  expect(headlines).toContainEqual(expect.stringContaining('Digest'));
  expect(onCall.received.map(({ text }) => text.split('\n')[0])).toEqual([]);
});
