/** Begins to trace where the settings ask for it. Without that, no part of OpenTelemetry is loaded. */

import { AppError } from '../../domain/values/errors.ts';
import type { TracedDaemon, TraceSettings, Traces } from './traces.ts';

/** Begins to trace; null without settings. Throws AppError `configuration` where OpenTelemetry cannot be loaded. */
export async function openTraces(settings: TraceSettings | null, daemon: TracedDaemon): Promise<Traces | null> {
  if (settings === null) return null;
  const { startTraces } = await loadOpenTelemetry();
  const { exporter, sampler } = settings;
  daemon.log.info({ exporter, sampler }, 'traces.on');
  return startTraces(settings, daemon);
}

/** Throws AppError `configuration` where it is not installed. */
export async function loadOpenTelemetry(): Promise<typeof import('./opentelemetry.ts')> {
  try {
    return await import('./opentelemetry.ts');
  } catch (cause) {
    const advice = 'install purchase-watch again, or set OTEL_SDK_DISABLED=true';
    throw new AppError('configuration', `OTEL_TRACES_EXPORTER: the packages of OpenTelemetry cannot be loaded; ${advice}`, {
      cause,
    });
  }
}
