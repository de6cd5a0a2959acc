/** A real Prometheus with the rules of this repository, which scrapes a daemon each second. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, startChild } from '../support/broker-process.ts';
import { program } from './promtool.ts';
import { KEY } from './recording.ts';

export interface PrometheusServer {
  /** The data of an answer of its API; throws when it is an error. `path` begins after `/api/v1/`. */
  ask<T>(path: string, query?: Readonly<Record<string, string>>): Promise<T>;
  stop(): Promise<void>;
}

/** `target` is the daemon's host and port; `alertmanager` where alerts are sent. */
export async function startPrometheus(target: string, rules: string): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-prometheus-'));
  const [port] = (await freePorts(1)) as [number];
  const config = join(folder, 'prometheus.yml');
  const job = {
    job_name: 'purchase-watch',
    authorization: { credentials: KEY },
    static_configs: [{ targets: [target] }],
  };
  const global = { scrape_interval: '1s', evaluation_interval: '1s' };
  writeFileSync(config, JSON.stringify({ global, rule_files: [rules], scrape_configs: [job] }));
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
  await child.says('Server is ready to receive web requests');
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
