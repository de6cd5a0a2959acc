/** Lays out numbers as a page for Prometheus; alone in knowing prom-client. */
import type { Registry } from 'prom-client';
import type { Spread } from './meters.ts';

/** One number of a family, with the labels that distinguish it from the others. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number | Spread;
}

/** Numbers of one name. */
export interface MetricFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The names of its labels. */
  readonly labels: readonly string[];
  /** The numbers now. */
  read(): readonly Sample[];
}

/** How finely the event loop's delay is watched: a process whose metrics are never read does not watch it at all. */
const LOOP_PRECISION = 50;

/** A registry of the given families, and of the process itself. Loads prom-client only now: many processes are never asked. */
export async function createRegistry(families: readonly MetricFamily[]): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await import('prom-client');
  const registry = new Registry();
  for (const family of families) registry.registerMetric(asMetric(family));
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION });
  return registry;
}

/** What a registry asks of a metric: its numbers, when they are wanted. */
function asMetric({ name, help, type, read }: MetricFamily): Parameters<Registry['registerMetric']>[0] {
  const values = () =>
    read().flatMap(({ labels = {}, value }) =>
      typeof value === 'number' ? [{ labels, value }] : spreadValues(name, labels, value),
    );
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: async () => ({ name, help, type, values: values(), aggregator: 'sum' }),
  };
  return metric as unknown as Parameters<Registry['registerMetric']>[0];
}

/** Each limit counts everything up to it, as Prometheus wants it. */
function spreadValues(name: string, labels: Readonly<Record<string, string>>, { limits, counts, sum }: Spread) {
  let total = 0;
  const buckets = counts.map((count, place) => {
    total += count;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(limits[place] ?? '+Inf') }, value: total };
  });
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum() }, { metricName: `${name}_count`, labels, value: total }];
}
