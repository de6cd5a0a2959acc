/** Channels for people over HTTP: what each gets, and its test messages. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SLACK_ANSWERS } from '../../support/slack-stand-in.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { request } from '../api.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ realClock: true });
  await t.app.start();
});
afterAll(() => t.stop());

const call = (method: string, path: string) => request(t.app.url() + path, method);

test('each is listed with what it gets and how it is, and without its address', async () => {
  const { body, text } = await call('GET', '/v1/channels');
  const health = { status: 'ok', failures: 0, failingSince: null, pausedUntil: null, lastError: null };
  expect(body.data).toEqual([
    {
      ...{ name: '@slack', kind: 'slack', title: 'Slack', sites: null, severity: 'warning' },
      ...{ stuck: 'incidents', paidTwice: true, maxPerHour: 20 },
      ...{ status: 'active', statusReason: null, health: expect.objectContaining(health) },
    },
  ]);
  expect(text).not.toContain('a-secret-path');
});

test('a test shows three messages that say they are a test', async () => {
  const { status, body } = await call('POST', '/v1/channels/@slack/test');
  expect([status, body]).toEqual([200, { ok: true, messages: 3, detail: null }]);
  expect(t.slack.received.filter(({ text }) => text.includes('TEST'))).toHaveLength(3);
});

test('a test that is refused says why, and how many were taken', async () => {
  t.slack.respond({}, SLACK_ANSWERS.noService);
  const { body } = await call('POST', '/v1/channels/@slack/test');
  expect(body).toEqual({ ok: false, messages: 1, detail: expect.stringContaining('no_service') });
});

test('another name is no channel, a system neither', async () => {
  for (const name of ['@teams', 'default'])
    expect((await call('POST', `/v1/channels/${name}/test`)).body.code).toBe('subscriber_not_found');
});
