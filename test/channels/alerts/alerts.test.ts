import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { configuredSubscribers } from '../../../src/channels/recipients.ts';
import { channelCeilings } from '../../../src/config/channels.ts';
import { describeSettings } from '../../../src/config/describe.ts';
import { loadFile, problemsOf, SIGNING_SECRET } from '../../config/files.ts';
import { startStandIn } from '../../support/stand-in.ts';
import { startTestApp } from '../../support/test-app.ts';

const OLD = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

async function pager() {
  const started = await startStandIn<{ body: string; headers: Record<string, string>; path: string }>(
    ({ body, headers, path }) => ({
      kept: { body, headers: headers as Record<string, string>, path },
    }),
  );
  onTestFinished(() => started.stop());
  return started;
}

test('a system that pages people gets each event about an incident, signed and in order, and no other', async () => {
  const to = await pager();
  const t = await startTestApp({
    change: (settings) => {
      const [first] = settings.channels;
      const url = `${to.origin}/a-secret-path`;
      const own = {
        kind: 'alerts',
        name: 'pager',
        webhookUrl: url,
        secret: SIGNING_SECRET,
        oldSecrets: [OLD],
        maxPerHour: null,
      } as const;
      settings.channels = [{ ...first!, ...own }];
    },
  });
  onTestFinished(() => t.stop());
  t.receiver.respond({ status: 410 });
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  const pass = async (): Promise<void> => {
    await t.app.deliverOnce();
    t.clock.advance('31s');
    await t.app.judgeOnce();
  };
  for (let step = 0; step < 4; step++) await pass();
  await t.app
    .sql`update purchase_watch_internal.subscribers set status = 'active', status_reason = null, failed_at = null where name = 'default'`;
  for (let step = 0; step < 60; step++) await pass();
  await t.app.deliverOnce();
  const events = to.received.map(({ body, headers, path }) => {
    expect(path).toBe('/a-secret-path');
    for (const secret of [SIGNING_SECRET, OLD]) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    return JSON.parse(body);
  });
  expect(events.map(({ type }) => type)).toEqual(['incident.opened', 'incident.ended']);
  expect(events[0].data).toMatchObject({ kind: 'subscriber', subscriber: 'default', severity: 'critical' });
  expect(events[1].data.incidentId).toBe(events[0].data.incidentId);
  const [row] = await t.app.sql`select kind, audience from purchase_watch_internal.subscribers where name = '@alerts-pager'`;
  expect(row).toEqual({ kind: 'alerts', audience: 'people' });
  expect(t.log.join('')).not.toMatch(/a-secret-path|whsec_/);
});

const FILE = `alerts: { channels: { pager: { webhookUrl: "https://pager.example/sentinel", secret: ${SIGNING_SECRET} } } }`;

test('its settings are its address and secret, which nobody is shown, and it has no ceiling of an hour', () => {
  const settings = loadFile(FILE);
  expect(settings.channels).toEqual([
    expect.objectContaining({
      kind: 'alerts',
      name: 'pager',
      secret: SIGNING_SECRET,
      oldSecrets: [],
      maxPerHour: null,
      stuck: 'auto',
    }),
  ]);
  expect([...channelCeilings(settings)]).toEqual([]);
  const rows = describeSettings(settings);
  expect(rows.find(({ name }) => name === 'alerts.channels.pager.secret')).toMatchObject({ value: 'set' });
  expect(JSON.stringify(rows)).not.toMatch(/sentinel|whsec_/);
  const hashes = [FILE, FILE.replace(SIGNING_SECRET, OLD)].map(
    (text) => configuredSubscribers(loadFile(text))[0]!.definition.addressHash,
  );
  expect(hashes[0], 'another secret switches one on again that was switched off').not.toBe(hashes[1]);
});

test('without a secret, or with a ceiling, it is refused', () => {
  expect(problemsOf(() => loadFile('alerts: { channels: { pager: { webhookUrl: "https://pager.example" } } }'))).toEqual([
    expect.stringMatching(/^alerts\.channels\.pager\.secret: is missing/),
  ]);
  expect(problemsOf(() => loadFile(FILE.replace(' secret:', ' maxPerHour: 5, secret:')))).toEqual([
    expect.stringMatching(/^alerts\.channels\.pager\.maxPerHour: is not a setting/),
  ]);
});
