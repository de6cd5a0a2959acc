import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { DASHBOARDS } from '../../tools/dashboards/panels.ts';
import { keyUntil } from './expiring.ts';
import { promtool } from './promtool.ts';
import { FOLDER, promtoolTest } from './recording.ts';
import { startAlertmanager, startPrometheus } from './server.ts';
import { record } from './world.ts';

const RULES = join(FOLDER, 'rules.yml');
const INCIDENTS = join(FOLDER, 'incidents.yml');

test('promtool finds the rules good, and in each recording the alerts that it names, no other one', () => {
  for (const path of [RULES, INCIDENTS]) expect(promtool('check', 'rules', '--lint-fatal', path)).toContain('rules found');
  const tests = join(FOLDER, 'tests');
  promtool('test', 'rules', ...readdirSync(tests).map((name) => join(tests, name)));
});

/** The recordings in the repository show each alert; this shows that recordings are still what a daemon says. */
test('a daemon whose database is killed, recorded anew, causes the alert for it and no other', async () => {
  const recording = await record('anew', {
    speed: 60,
    every: 1_000,
    play: async ({ postgres, ready, watch, phase }) => {
      await ready('replica-1');
      await watch(20);
      await phase('well', 3);
      await postgres.kill();
      await phase('the database was killed', 10, 'PurchaseWatchDatabaseAway');
      await postgres.restart();
      await phase('it is back', 8);
    },
  });
  // Beside the others, because a test names its rules from there.
  const folder = mkdtempSync(join(FOLDER, 'anew-'));
  const path = join(folder, 'anew.yml');
  writeFileSync(path, stringify(promtoolTest(recording)));
  try {
    promtool('test', 'rules', path);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

interface Vector {
  readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[];
}

test('Prometheus reads a daemon with exemplars, answers each question of the dashboards, and sends incidents to Alertmanager', async () => {
  const monitor = createServer((_, answer) => void answer.end());
  await new Promise<void>((resolve) => monitor.listen(0, '127.0.0.1', resolve));
  await record('dashboards', {
    speed: 1,
    every: 1_000,
    play: async ({ ready, watch, simulator }) => {
      const env = { DEAD_MANS_SWITCH_URL: `http://127.0.0.1:${(monitor.address() as AddressInfo).port}` };
      const daemon = await ready('replica-1', { env, file: { api: { keys: keyUntil('monitoring', 240) } } });
      const alertmanager = await startAlertmanager();
      const target = new URL(daemon.url).host;
      const prometheus = await startPrometheus({ target, rules: [RULES, INCIDENTS], alertmanager: alertmanager.host });
      try {
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
        for (const id of ids) simulator.control.setState(id, 'Completed');
        const exemplars = async (metric: string) => {
          const query = {
            query: `purchase_watch_${metric}_bucket`,
            start: `${Date.now() / 1_000 - 600}`,
            end: `${Date.now() / 1_000}`,
          };
          const found = await prometheus.ask<{ exemplars: { labels: Record<string, string> }[] }[]>('query_exemplars', query);
          return found.flatMap((each) => each.exemplars.flatMap(({ labels }) => Object.entries(labels)));
        };
        await expect
          .poll(() => exemplars('poll_duration_seconds'))
          .toContainEqual(['purchase_row', expect.stringMatching(/^\d+$/)]);
        await expect
          .poll(() => exemplars('event_to_receipt_seconds'))
          .toContainEqual(['event_id', expect.stringMatching(/^evt_/)]);
        const { groups } = await prometheus.ask<{ groups: { rules: { name: string; health: string; lastError?: string }[] }[] }>(
          'rules',
        );
        expect(groups.flatMap(({ rules }) => rules.filter(({ health }) => health !== 'ok'))).toEqual([]);

        const incidents = () => alertmanager.alerts().filter(({ alertname }) => alertname === 'PurchaseWatchIncident');
        expect(incidents()).toEqual([]);
        await simulator.control.down();
        const critical = { severity: 'critical', kind: 'unreachable', site: 'default' };
        await expect.poll(incidents, { interval: 1_000 }).toEqual([expect.objectContaining(critical)]);
      } finally {
        await prometheus.stop();
        await alertmanager.stop();
      }
    },
  });
  monitor.close();
});
