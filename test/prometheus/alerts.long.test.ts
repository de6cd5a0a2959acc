import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DASHBOARDS } from '../../tools/dashboards/panels.ts';
import { keyUntil } from './expiring.ts';
import { promtool } from './promtool.ts';
import { FOLDER } from './recording.ts';
import { type PrometheusServer, startAlertmanager, startPrometheus } from './server.ts';
import { record, type World } from './world.ts';

const RULES = ['rules.yml', 'incidents.yml'];

test('promtool finds the rules good, and in each recording the alerts that it names, no other one', () => {
  for (const file of RULES) expect(promtool('check', 'rules', '--lint-fatal', join(FOLDER, file))).toContain('rules found');
  const tests = join(FOLDER, 'tests');
  promtool('test', 'rules', ...readdirSync(tests).map((name) => join(tests, name)));
});

test('Prometheus reads a daemon, answers each question of the dashboards, and alerts by Alertmanager of real faults while they last', async () => {
  const monitor = createServer((_, answer) => void answer.end());
  await new Promise<void>((resolve) => monitor.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-rules-'));
  const url = `http://127.0.0.1:${(monitor.address() as AddressInfo).port}`;
  // The recordings show how long each alert waits.
  const rules = RULES.map((file) => {
    const path = join(folder, file);
    writeFileSync(path, readFileSync(join(FOLDER, file), 'utf8').replaceAll(/\b((?:keep_firing_)?for): \d+[mh]/g, '$1: 0s'));
    return path;
  });
  const play = async (world: World): Promise<void> => {
    const file = { api: { keys: keyUntil('monitoring', 24 * 100) } };
    const daemon = await world.ready('replica-1', { env: { DEAD_MANS_SWITCH_URL: url }, file });
    const alertmanager = await startAlertmanager();
    const target = new URL(daemon.url).host;
    const prometheus = await startPrometheus({ target, rules, alertmanager: alertmanager.host });
    const alerts = () => alertmanager.alerts().map(({ alertname, site, severity }) => `${alertname} ${site ?? ''} ${severity}`);
    try {
      await answersDashboards(world, prometheus);
      await showsExemplars(prometheus);
      await world.simulator.control.down();
      const blind = ['PurchaseWatchSiteBlind default critical', 'PurchaseWatchIncident default critical'];
      await expect.poll(alerts, { interval: 1_000 }).toEqual(expect.arrayContaining(blind));
      await world.simulator.control.up();
      await expect.poll(alerts, { interval: 1_000 }).not.toContain(blind[0]);
      await world.postgres.kill();
      const away = 'PurchaseWatchDatabaseAway  critical';
      await expect.poll(alerts, { interval: 1_000 }).toContain(away);
      await world.postgres.restart();
      await expect.poll(alerts, { interval: 1_000 }).not.toContain(away);
      const { groups } = await prometheus.ask<{ groups: { rules: { health: string }[] }[] }>('rules');
      expect(groups.flatMap((group) => group.rules.filter(({ health }) => health !== 'ok'))).toEqual([]);
    } finally {
      await prometheus.stop();
      await alertmanager.stop();
    }
  };
  await record('live', { speed: 1, every: 1_000, play });
  monitor.close();
  rmSync(folder, { recursive: true });
});

interface Vector {
  readonly result: readonly object[];
}

async function answersDashboards({ watch, simulator }: World, prometheus: PrometheusServer): Promise<void> {
  const ids = await watch(20);
  const asked = DASHBOARDS.flatMap(({ title, rows }) =>
    Object.values(rows).flatMap((panels) =>
      panels.flatMap((panel) => panel.queries.map((query) => ({ ...query, title: `${title}: ${panel.title}` }))),
    ),
  );
  const unanswered = async (): Promise<string[]> => {
    const empty: string[] = [];
    for (const { title, expr, mayBeEmpty } of asked) {
      const { result } = await prometheus.ask<Vector>('query', { query: expr.replaceAll('$rate', '15s') });
      if (result.length === 0 && !mayBeEmpty) empty.push(title);
    }
    return empty;
  };
  await expect.poll(unanswered, { interval: 1_000 }).toEqual([]);
  for (const id of ids.slice(10)) simulator.control.setState(id, 'Completed');
}

async function showsExemplars(prometheus: PrometheusServer): Promise<void> {
  const exemplars = async (metric: string) => {
    const now = Date.now() / 1_000;
    const query = { query: `purchase_watch_${metric}_bucket`, start: `${now - 600}`, end: `${now}` };
    const found = await prometheus.ask<{ exemplars: { labels: Record<string, string> }[] }[]>('query_exemplars', query);
    return found.flatMap((each) => each.exemplars.flatMap(({ labels }) => Object.entries(labels)));
  };
  await expect.poll(() => exemplars('poll_duration_seconds')).toContainEqual(['purchase_row', expect.stringMatching(/^\d+$/)]);
  await expect.poll(() => exemplars('event_to_receipt_seconds')).toContainEqual(['event_id', expect.stringMatching(/^evt_/)]);
}
