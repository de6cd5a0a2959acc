/** Lays out numbers as a page for Prometheus; alone in knowing prom-client. */
import type { Registry, RegistryContentType } from 'prom-client';
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
  readonly labels: readonly string[];
  /** Of a histogram: what the ids of its exemplars are called. */
  readonly exemplar?: string;
  /** The numbers now. */
  read(): readonly Sample[];
}

/** Of every name of ours. */
export const PREFIX = 'purchase_watch_';

/** The metrics that a daemon has from the first moment on, the database away or not. */
export function processFamilies(version: string, isStarting: boolean): MetricFamily[] {
  return [
    {
      type: 'gauge',
      name: `${PREFIX}build_info`,
      labels: ['version'],
      help: 'Always 1; the label says which version runs.',
      read: () => [{ labels: { version }, value: 1 }],
    },
    {
      type: 'gauge',
      name: `${PREFIX}starting`,
      labels: [],
      help: 'Whether the daemon is still starting: then it has only this, build_info and the numbers of the process.',
      read: () => [{ value: isStarting ? 1 : 0 }],
    },
  ];
}

/** How finely the event loop's delay is watched: a process whose metrics are never read does not watch it at all. */
const LOOP_PRECISION = 50;

/** The two formats: the older one knows no exemplars. */
export type Format = 'text' | 'openMetrics';

/**
 * A registry of the given families, and of the process itself, that writes one format: the library changes the names of its counters when a
 * registry changes its format. Loads prom-client only now: many processes are never asked.
 */
export async function createRegistry(families: readonly MetricFamily[], format: Format = 'text'): Promise<Registry> {
  const { Registry, collectDefaultMetrics } = await import('prom-client');
  const registry = new Registry();
  const isOpen = format === 'openMetrics';
  if (isOpen) (registry as Registry<RegistryContentType>).setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const family of families) registry.registerMetric(asMetric(family, isOpen));
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION });
  // Each is the sum of a gauge that stays, under the ending of counters.
  for (const name of NO_COUNTERS) registry.removeSingleMetric(name);
  return registry;
}

const NO_COUNTERS = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/** A metric as a registry takes it, which answers numbers on request. OpenMetrics wants counters' names without their ending. */
function asMetric(family: MetricFamily, isOpen: boolean): Parameters<Registry['registerMetric']>[0] {
  const { help, type, read } = family;
  const name = isOpen && type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
  const values = () =>
    read().flatMap(({ labels = {}, value }) =>
      typeof value === 'number' ? [{ labels, value }] : spreadValues(family, labels, value),
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
function spreadValues({ name, exemplar }: MetricFamily, labels: Readonly<Record<string, string>>, spread: Spread) {
  const { bounds, counts, exemplars, sum } = spread;
  let total = 0;
  const buckets = counts.map((count, place) => {
    total += count;
    const bucket = { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[place] ?? '+Inf') }, value: total };
    const found = exemplars[place];
    if (exemplar === undefined || found === undefined) return bucket;
    return {
      ...bucket,
      exemplar: { labelSet: { [exemplar]: String(found.id) }, value: found.value, timestamp: found.at / 1_000 },
    };
  });
  return [...buckets, { metricName: `${name}_sum`, labels, value: sum() }, { metricName: `${name}_count`, labels, value: total }];
}
