/** Writes a dashboard as Grafana reads it; the types are Grafana's own. */
import type { Dashboard, Panel, RowPanel } from '@grafana/schema';
import type { DashboardSpec, PanelSpec } from './panels.ts';

const SOURCE = { type: 'prometheus', uid: '$source' };
/** Of 24 columns. */
const WIDTHS = { now: 4, line: 8 };
const HEIGHTS = { row: 1, panel: 7 };
/** The version of the format, from which each newer Grafana migrates. */
const SCHEMA_VERSION = 42;

export function grafanaDashboard({ uid, title, rows }: DashboardSpec): Dashboard {
  const panels: (Panel | RowPanel)[] = [];
  let top = 0;
  for (const [heading, specs] of Object.entries(rows)) {
    const gridPos = { x: 0, y: top, w: 24, h: HEIGHTS.row };
    panels.push({ type: 'row', id: panels.length + 1, title: heading, collapsed: false, gridPos, panels: [] });
    top += HEIGHTS.row;
    let left = 0;
    for (const spec of specs) {
      const w = spec.isNow ? WIDTHS.now : WIDTHS.line;
      if (left + w > 24) {
        left = 0;
        top += HEIGHTS.panel;
      }
      panels.push(panel(spec, panels.length + 1, { x: left, y: top, w, h: HEIGHTS.panel }));
      left += w;
    }
    top += HEIGHTS.panel;
  }
  return {
    ...{ uid, title, panels, schemaVersion: SCHEMA_VERSION },
    description: 'Made by npm run dashboards; edit a copy.',
    tags: ['purchase-watch'],
    timezone: 'browser',
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' }] },
    links: [
      {
        title: 'purchase-watch',
        type: 'dashboards',
        tags: ['purchase-watch'],
        asDropdown: false,
        icon: '',
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        tooltip: '',
        url: '',
      },
    ],
  };
}

function panel({ title, about, unit, queries, isNow }: PanelSpec, id: number, gridPos: Panel['gridPos'] & object): Panel {
  return {
    ...{ id, title, gridPos },
    type: isNow ? 'stat' : 'timeseries',
    description: about,
    datasource: SOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr: expr.replaceAll('$rate', '$__rate_interval'),
      ...(legend === undefined ? {} : { legendFormat: legend }),
      ...(isNow ? { instant: true } : { exemplar: expr.includes('_bucket') }),
    })),
    fieldConfig: { defaults: { unit, ...(isNow || unit === 'dateTimeFromNow' ? {} : { min: 0 }) }, overrides: [] },
    options: isNow
      ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'none' }
      : { legend: { showLegend: true, displayMode: 'list', placement: 'bottom' } },
  };
}
