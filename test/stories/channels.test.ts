/** Several channels: one breaks for good, and people hear of it in another one. */
import { expect, onTestFinished, test } from 'vitest';
import { SLACK_ANSWERS, startSlackStandIn } from '../support/slack-stand-in.ts';
import { startTestApp } from '../support/test-app.ts';

const DOWN = { status: 410 };

test('a channel that is gone is told in the others and in the log, and not in itself', async () => {
  const ops = await startSlackStandIn();
  const t = await startTestApp({
    change: ({ slack }) => {
      const [first] = slack.channels;
      Object.assign(slack, { channels: [first, { ...first, name: 'ops', webhookUrl: ops.url }] });
    },
  });
  onTestFinished(async () => {
    await t.stop();
    await ops.stop();
  });
  ops.respondAlways(SLACK_ANSWERS.noService);
  // What both are told first: a receiver wants nothing any more.
  t.receiver.respond(DOWN);
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  for (let step = 0; step < 8; step++) {
    await t.app.deliverOnce();
    t.clock.advance('31s');
    await t.app.judgeOnce();
  }
  await t.app.deliverOnce();
  expect(ops.received).toHaveLength(1);
  const headlines = t.slack.received.map(({ text }) => text.split('\n')[0]);
  expect(headlines).toEqual([
    expect.stringContaining('default was switched off'),
    expect.stringContaining('@slack-ops was switched off'),
  ]);
  const text = t.slack.received[1]!.text;
  expect(text).toContain('no_service');
  const lines = t.log.map((line) => JSON.parse(line));
  expect(lines.filter(({ event }) => event === 'subscriber.switched_off')).toContainEqual(
    expect.objectContaining({ level: 'error', subscriber: '@slack-ops' }),
  );
  expect(t.log.join('')).not.toContain('a-secret-path');
});
