/** What Prometheus asks: how much was done, how long it took, and what waits. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Health } from '../runtime/health.ts';
import { createMetricsPage, type MetricsPage } from '../runtime/metrics.ts';
import { packageVersion } from '../runtime/package-version.ts';
import type { Sql } from '../store/database.ts';
import { type DatabaseNumbers, databaseNumbers } from './database-numbers.ts';
import { type Engine, metricFamilies } from './metric-families.ts';
import { problems } from './problems.ts';
import type { ApiBindings } from './serve.ts';

/** Mounts /metrics. */
export function mountMetrics(
  app: OpenAPIHono<{ Bindings: ApiBindings }>,
  { sql, health, engine }: { sql: Sql; health: Health; engine: Engine },
): void {
  const readNumbers = databaseNumbers(sql);
  let numbers: DatabaseNumbers | null = null;
  let page: Promise<MetricsPage> | null = null;
  app.openapi(metricsRoute, async (c) => {
    page ??= createMetricsPage(metricFamilies({ version: packageVersion(), health, engine, numbers: () => numbers }));
    const { contentType, render } = await page;
    numbers = await readNumbers();
    return c.text(await render(), 200, { 'content-type': contentType });
  });
}

const metricsRoute = createRoute({
  method: 'get',
  path: '/metrics',
  summary: 'Metrics for Prometheus',
  description:
    'Counters and durations are of this replica; what waits, and who answers, is of all together and at most ten seconds old. They are listed in docs/metrics.md. Either key will do.',
  tags: ['Operations'],
  responses: {
    200: {
      description: 'The text format, version 0.0.4.',
      content: { 'text/plain': { schema: z.string() } },
    },
    ...problems('unauthorized'),
  },
});
