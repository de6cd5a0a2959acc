/** Metrics for Prometheus: counts of polls and deliveries, how long each took, and how many purchases and deliveries wait. */

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import { type DatabaseNumbers, type DatabaseReading, databaseNumbers } from '../../actions/overview/database-numbers.ts';
import type { Settings } from '../../config/settings.ts';
import type { Meters } from '../../runtime/meters.ts';
import { createRegistry, type Format } from '../../runtime/metrics.ts';
import { packageVersion } from '../../runtime/process/package-version.ts';
import { type Api, type ApiDeps, needs, route } from '../http/route.ts';
import { createBudget } from '../limits/strangers.ts';
import { metricFamilies } from './gather-families.ts';
import type { Replica } from './metric.ts';

/** More callers within a second get what was written last: without keys anybody may ask, and writing it takes 3 ms. */
const WRITTEN_A_SECOND = 20;

type MetricsDeps = Pick<ApiDeps, 'operators' | 'health'> & Pick<Replica, 'engine'> & { settings: Pick<Settings, 'apiKeys'> };

export function mountMetrics(app: Api, { operators, health, engine, settings }: MetricsDeps): void {
  const readNumbers = databaseNumbers(operators);
  let reading: DatabaseReading = { answers: false, numbers: null };
  const sources = { version: packageVersion(), health, engine, keys: settings.apiKeys, reading: () => reading };
  const forgetGone = goneForgetter(engine.meters);
  const writerOf = (format: Format) => {
    const mayWrite = createBudget(WRITTEN_A_SECOND);
    let registry: ReturnType<typeof createRegistry> | null = null;
    const write = async () => {
      registry ??= createRegistry(metricFamilies(sources), format);
      const page = await registry;
      reading = await readNumbers();
      if (reading.numbers !== null) forgetGone(reading.numbers);
      return { text: await page.metrics(), contentType: page.contentType };
    };
    let written: ReturnType<typeof write> | null = null;
    return () => {
      if (mayWrite() || written === null) written = write();
      return written;
    };
  };
  const writers = { text: writerOf('text'), openMetrics: writerOf('openMetrics') };
  app.openapi(metricsRoute, async (c) => {
    const { text, contentType } = await writers[formatFor(c)]();
    return c.text(text, 200, { 'content-type': contentType });
  });
}

const OPEN_METRICS = 'application/openmetrics-text';

/** OpenMetrics for a caller that prefers it, as Prometheus does; the older format for all others. */
function formatFor(c: Context): Format {
  const supports = [OPEN_METRICS, 'text/plain'];
  return accepts(c, { header: 'Accept', supports, default: 'text/plain' }) === OPEN_METRICS ? 'openMetrics' : 'text';
}

/**
 * Drops the meters of subscribers that get no more events. Two readings have to agree: a subscriber made since
 * the last reading has a meter before the reading names it.
 */
export function goneForgetter(meters: Meters): (numbers: Pick<DatabaseNumbers, 'at' | 'subscribers'>) => void {
  let missing: ReadonlySet<string> = new Set();
  let readAt: DatabaseNumbers['at'] | null = null;
  return ({ at, subscribers }) => {
    if (at === readAt) return;
    readAt = at;
    const present = new Set(subscribers.map(({ name }) => name));
    const absent = [...meters.subscribers().keys()].filter((name) => !present.has(name));
    for (const name of absent) if (missing.has(name)) meters.forgetSubscriber(name);
    missing = new Set(absent);
  };
}

const metricsRoute = route('GET /metrics', {
  security: needs('metrics'),
  summary: 'Metrics for Prometheus',
  description:
    'Counters and durations are of this replica; what waits, and who answers, is of all together and at most ten seconds old. They are listed in docs/metrics.md.',
  answers: {
    200: {
      description: 'The text format, version 0.0.4; or OpenMetrics, version 1.0.0, with exemplars, to who prefers it.',
      content: { 'text/plain': { schema: z.string() }, [OPEN_METRICS]: { schema: z.string() } },
    },
  },
  needsDatabase: false,
});
