/** A real Prometheus with the rules of this repository, which scrapes a daemon each second. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, freePorts, startChild } from '../support/broker-process.ts';
import { program } from './promtool.ts';
import { KEY } from './recording.ts';

interface PrometheusOptions {
  readonly target: string;
  readonly rules: readonly string[];
  readonly alertmanager: string;
}

export interface PrometheusServer {
  /** The data of an answer of its API; throws when it is an error. `path` begins after `/api/v1/`. */
  ask<T>(path: string, query?: Readonly<Record<string, string>>): Promise<T>;
  stop(): Promise<void>;
}

/** `target` is the daemon's host and port, `alertmanager` that of where alerts are sent. */
export async function startPrometheus({ target, rules, alertmanager }: PrometheusOptions): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-prometheus-'));
  const [port] = (await freePorts(1)) as [number];
  const config = join(folder, 'prometheus.yml');
  const job = {
    job_name: 'purchase-watch',
    authorization: { credentials: KEY },
    static_configs: [{ targets: [target] }],
  };
  const alerting = { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] };
  const global = { scrape_interval: '1s', evaluation_interval: '1s' };
  writeFileSync(config, JSON.stringify({ global, rule_files: rules, scrape_configs: [job], alerting }));
  const child = startChild(
    program('prometheus', 'prometheus'),
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { PATH: process.env.PATH ?? '' },
  );
  await ready(child, 'Server is ready to receive web requests');
  return {
    ask: async <T>(path: string, query: Readonly<Record<string, string>> = {}): Promise<T> => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}?${new URLSearchParams(query)}`);
      const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
      if (status !== 'success') throw new Error(`${JSON.stringify(query)}: ${error}`);
      return data;
    },
    stop: async () => {
      child.process.kill('SIGTERM');
      await child.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A server that does not start leaves no process behind. */
async function ready(child: Child, text: string): Promise<void> {
  await child.says(text).catch((error: unknown) => {
    child.process.kill('SIGKILL');
    throw error;
  });
}

export interface Alertmanager {
  readonly host: string;
  /** The active alerts, as amtool shows them: labels of each. */
  alerts(): Record<string, string>[];
  stop(): Promise<void>;
}

/** A real Alertmanager that sends nothing to anybody; at a free port, or at the host and port of one that is gone. */
export async function startAlertmanager(at: string | null = null): Promise<Alertmanager> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-alertmanager-'));
  const host = at ?? `127.0.0.1:${(await freePorts(1))[0]}`;
  const config = join(folder, 'alertmanager.yml');
  writeFileSync(config, JSON.stringify({ route: { receiver: 'nobody' }, receivers: [{ name: 'nobody' }] }));
  const flags = [`--config.file=${config}`, `--storage.path=${join(folder, 'data')}`, `--web.listen-address=${host}`];
  const binary = program('prometheus-alertmanager', 'prometheus-alertmanager');
  const child = startChild(binary, [...flags, '--cluster.listen-address='], { PATH: process.env.PATH ?? '' });
  await ready(child, 'Listening on');
  return {
    host,
    alerts: () => {
      const query = ['alert', 'query', `--alertmanager.url=http://${host}`, '--output=json'];
      const found = execFileSync(program('amtool', 'prometheus-alertmanager'), query, { encoding: 'utf8' });
      return (JSON.parse(found) as { labels: Record<string, string> }[]).map(({ labels }) => labels);
    },
    stop: async () => {
      child.process.kill('SIGTERM');
      await child.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
