/** OpenTelemetry's SDK with the settings of the environment: the one file that loads it, and only where traces are on. */

import { setTimeout as delay } from 'node:timers/promises';
import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Logger } from '../logger.ts';
import { createRareWarning } from '../rare-warning.ts';
import { createSpans } from './spans.ts';
import type { TracedDaemon } from './traced-daemon.ts';
import type { TraceSettings, Traces } from './traces.ts';

/** A collector that is away must not hold up a stop. */
const LAST_EXPORT: Milliseconds = 2_000;

/** Traces by these settings; what the settings leave out, the SDK reads from the process's environment. */
export function startTraces(settings: TraceSettings, { replica, version, log }: TracedDaemon): Traces {
  const nothing = (): void => undefined;
  const warn = rareWarning(log, 'traces.warning');
  const quiet = { error: nothing, info: nothing, debug: nothing, verbose: nothing };
  diag.setLogger({ ...quiet, warn }, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const own = { 'service.name': 'purchase-watch', 'service.version': version, 'service.instance.id': replica };
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter: withFailuresLogged(exporterOf(settings), log), ...settings.batch })],
  });
  return {
    ...createSpans(provider.getTracer('purchase-watch', version)),
    // A failed export is in the log already.
    close: () => Promise.race([provider.shutdown().catch(nothing), delay(LAST_EXPORT, undefined, { ref: false })]),
  };
}

/** Exports nothing once; answers why the collector did not take it, or null. */
export function tryExport(settings: TraceSettings): Promise<string | null> {
  const exporter = exporterOf(settings, LAST_EXPORT);
  return new Promise((resolve) => exporter.export([], ({ error }) => resolve(error === undefined ? null : reasonOf(error))));
}

function exporterOf({ exporter }: TraceSettings, timeoutMillis?: Milliseconds): SpanExporter {
  if (exporter === 'console') return new ConsoleSpanExporter();
  return new OTLPTraceExporter(timeoutMillis === undefined ? {} : { timeoutMillis });
}

function reasonOf(error: Error): string {
  return 'code' in error ? `${error.message} (${error.code})` : error.message;
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const root = sampler.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(ratio)
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function withFailuresLogged(exporter: SpanExporter, log: Logger): SpanExporter {
  const warn = rareWarning(log, 'traces.not_exported');
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined) warn(reasonOf(error));
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** At most one line a minute; `times`: how often it has happened since the last line. */
function rareWarning(log: Logger, event: 'traces.warning' | 'traces.not_exported'): (detail: string) => void {
  let last = '';
  const advice =
    'spans that cannot be exported are dropped, and nothing else waits for them; look at the collector and the OTEL_ variables';
  const occurred = createRareWarning((times) => log.warn({ detail: last, times, advice }, event));
  return (detail) => {
    last = detail;
    occurred();
  };
}
