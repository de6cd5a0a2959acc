/** Writes the dashboards of Grafana: `npm run dashboards`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { grafanaDashboard } from './dashboards/grafana.ts';
import { DASHBOARDS } from './dashboards/panels.ts';

/** Each file with what belongs in it. */
export const dashboardFiles = (): { readonly path: string; readonly text: string }[] =>
  DASHBOARDS.map((spec) => ({
    path: join(import.meta.dirname, `../deploy/grafana/${spec.uid}.json`),
    text: `${JSON.stringify(grafanaDashboard(spec), null, 2)}\n`,
  }));

if (import.meta.main) for (const { path, text } of dashboardFiles()) writeFileSync(path, text);
