/** Checks whether the collector of traces takes an empty export. */

import { loadOpenTelemetry } from '../../runtime/traces/open.ts';
import type { TraceSettings } from '../../runtime/traces/traces.ts';
import type { Finding, Reporter } from '../overview/finding.ts';

/** A collector that is away fails no check: nothing but traces is lost. */
export async function checkTraces(report: Reporter, settings: TraceSettings): Promise<Finding[]> {
  const { tryExport } = await loadOpenTelemetry();
  const why = await tryExport(settings);
  const { exporter, sampler } = settings;
  if (why === null) return [report.ok(`exported by ${exporter} with the sampler ${sampler}`)];
  const todo = 'mend the collector, or its address or headers in the OTEL_EXPORTER_OTLP_ variables';
  return [report.warning(`the collector takes no traces: ${why}`, todo)];
}
