import { expect, onTestFinished, test } from 'vitest';
import { alertsOf } from '../../../src/channels/alertmanager/alerts.ts';
import { exampleEvents } from '../../../src/channels/people/examples.ts';
import { configuredSubscribers } from '../../../src/channels/recipients.ts';
import { channelRules } from '../../../src/config/channels.ts';
import { createPresentAlerts } from '../../../src/daemon/notifier/present-alerts.ts';
import { HOUR, MINUTE } from '../../../src/domain/values/time.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { loadFile, problemsOf } from '../../config/files.ts';
import { startStandIn } from '../../support/stand-in.ts';
import { startTestApp } from '../../support/test-app.ts';

interface Posted {
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly startsAt: string;
  readonly endsAt: string;
}

/** What Alertmanager would show as active at a moment. */
const firing = (alerts: readonly Posted[], now: number) => alerts.filter(({ endsAt }) => Date.parse(endsAt) > now);

test('an incident fires as one alert, is repeated while it is open, and ends', async () => {
  let status = 200;
  const alertmanager = await startStandIn<{ path: string; body: Posted[] }>(({ body, path }) => ({
    kept: { path, body: JSON.parse(body) },
    answer: { status },
  }));
  onTestFinished(() => alertmanager.stop());
  const t = await startTestApp({
    change: (settings) => {
      const own = { kind: 'alertmanager', name: 'ops', webhookUrl: `${alertmanager.origin}/prefix/`, maxPerHour: null } as const;
      settings.channels = [...settings.channels, { ...settings.channels[0]!, ...own, stuck: 'incidents', paidTwice: false }];
    },
  });
  onTestFinished(() => t.stop());
  const log: string[] = [];
  const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
  const channels = configuredSubscribers(t.settings).filter(({ showsPresent }) => showsPresent);
  const repeats = createPresentAlerts({
    ...{ sql: t.app.sql, clock: t.clock, channels },
    log: createLogger({ level: 'info', destination }),
  });
  onTestFinished(() => repeats.close());
  const last = () => alertmanager.received.at(-1)!;
  t.receiver.respond({ status: 410 });
  await t.watch({ script: [{ state: 'New' }] });
  await t.app.pollOnce();
  const pass = async (): Promise<void> => {
    await t.app.deliverOnce();
    t.clock.advance('31s');
    await t.app.judgeOnce();
  };
  expect(await repeats.tick(), 'nothing is open').toBe(MINUTE);
  expect(alertmanager.received).toEqual([]);
  for (let step = 0; step < 4; step++) await pass();
  expect(alertmanager.received).toHaveLength(1);
  const { path, body } = last();
  expect(path).toBe('/prefix/api/v2/alerts');
  const [alert, ...others] = firing(body, t.clock.now());
  expect(others).toEqual([]);
  const incident = expect.stringMatching(/^inc_/);
  expect(alert!.labels).toEqual({
    ...{ alertname: 'PurchaseWatchIncident', incident, kind: 'subscriber', severity: 'critical', subscriber: 'default' },
  });
  expect(alert!.annotations.summary).toContain('default');
  expect(alert!.annotations.description).not.toMatch(/[<>*`]/);

  t.clock.advance('59s');
  await repeats.tick();
  expect(alertmanager.received).toHaveLength(2);
  expect(firing(last().body, t.clock.now()).map(({ labels }) => labels)).toEqual([alert!.labels]);

  status = 503;
  await repeats.tick();
  await repeats.tick();
  expect(log.filter((line) => line.includes('alert.not_repeated'))).toHaveLength(1);
  const deliveries = () => t.app.sql`
    select d.status from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
    where s.name = '@alertmanager-ops'`;
  expect(await deliveries(), 'the channel’s trouble is that of a delivery').toEqual([{ status: 'pending' }]);
  // After a quarter of an hour the other channels have the incident.
  const ofChannel = () => t.slack.received.filter(({ text }) => text.includes('@alertmanager-ops'));
  for (let step = 0; step < 40; step++) await pass();
  await t.app.deliverOnce();
  expect(ofChannel()).toHaveLength(1);
  status = 200;
  for (let step = 0; step < 20; step++) await pass();
  expect((await deliveries()).map((each) => each.status)).not.toContain('pending');

  await t.app
    .sql`update purchase_watch_internal.subscribers set status = 'active', status_reason = null, failed_at = null where name = 'default'`;
  for (let step = 0; step < 60; step++) await pass();
  await t.app.deliverOnce();
  expect(firing(last().body, t.clock.now())).toEqual([]);
  expect(last().body.map(({ labels }) => labels)).toContainEqual(alert!.labels);
  const soFar = alertmanager.received.length;
  await repeats.tick();
  expect(alertmanager.received.length, 'an Alertmanager that was away at the end gets the end').toBe(soFar + 1);
  expect(firing(last().body, t.clock.now())).toEqual([]);
});

test('an incident that became critical ends the alert that it was as a warning', () => {
  const now = Date.UTC(2026, 10, 27);
  const [opened, ended, checkouts] = exampleEvents(now, 'longest');
  const alerts = alertsOf(opened!, { now, consoleUrl: 'https://console.example' });
  expect(alerts.map(({ labels, endsAt }) => [labels.severity, Date.parse(endsAt) - now])).toEqual([
    ['critical', HOUR],
    ['warning', 0],
  ]);
  const { severity: _severity, ...rest } = alerts[0]!.labels;
  expect(alerts[1]!.labels).toEqual({ ...rest, severity: 'warning' });
  expect(alerts[0]!.annotations.description!.length).toBeLessThanOrEqual(4_000);
  expect(alerts[0]!.generatorURL).toMatch(/^https:\/\/console\.example\/incidents\//);
  expect(firing(alertsOf(ended!, { now, consoleUrl: null }), now)).toEqual([]);
  expect(alertsOf(checkouts!, { now, consoleUrl: null }), 'single checkouts are no incident').toEqual([]);
});

test('it gets incidents alone, and its settings offer nothing else', () => {
  const FILE = 'alertmanager: { channels: { ops: { webhookUrl: "http://alertmanager:9093" } } }';
  const settings = loadFile(FILE);
  expect(settings.channels).toEqual([
    expect.objectContaining({ kind: 'alertmanager', name: 'ops', stuck: 'incidents', paidTwice: false, maxPerHour: null }),
  ]);
  expect(channelRules(settings)).toEqual([expect.objectContaining({ name: '@alertmanager-ops', onlyIncidents: true })]);
  for (const key of ['stuck: each', 'paidTwice: true', 'maxPerHour: 5']) {
    expect(problemsOf(() => loadFile(FILE.replace('{ webhookUrl', `{ ${key}, webhookUrl`)))).toEqual([
      expect.stringContaining('is not a setting'),
    ]);
  }
});
