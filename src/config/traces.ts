/** Whether and how traces are exported, by OpenTelemetry's own variables. Its SDK reads those that are not read here. */

import { baseUrl, flag, type Kind, number, oneOf, textKind, whole } from './kinds/kinds.ts';
import { wrongValue } from './kinds/problems.ts';
import type { Environment } from './sources/environment.ts';

const SAMPLERS = oneOf([
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
]);
const EXPORTERS = oneOf(['otlp', 'console', 'none']);
const PROTOCOLS = oneOf(['http/protobuf'], 'http/protobuf, the one protocol that this daemon sends traces by');
const RATIO = number('a number from 0 to 1', (value) => value <= 1, { type: 'number', minimum: 0, maximum: 1 });
const MILLISECONDS = whole(1, 3_600_000);
const SPANS = whole(1, 1_000_000);
const ATTRIBUTES = textKind('a list such as deployment.environment.name=production,service.namespace=shop', {}, (value) =>
  /^\s*(?:[^=,]+=[^=,]*(?:,|$))+$/.test(value),
);

/** Null: no traces, which is so unless an exporter or an endpoint is set. A wrong value is a problem, where the SDK would take its default in silence. */
export function traceSettings({ lookUp }: Environment, problems: string[]) {
  const read = <T>(name: string, kind: Kind<T>): T | undefined => {
    const text = lookUp(name, problems)?.trim();
    const value = text === undefined || text === '' ? undefined : kind.read(text);
    if (text !== undefined && value === undefined) problems.push(wrongValue(name, text, kind));
    return value;
  };
  if (read('OTEL_SDK_DISABLED', flag) === true) return null;
  const endpoints = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'].map((name) => read(name, baseUrl));
  const exporter = read('OTEL_TRACES_EXPORTER', EXPORTERS) ?? (endpoints.some((each) => each !== undefined) ? 'otlp' : 'none');
  if (exporter === 'none') return null;
  const [own, shared] = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (exporter === 'otlp') read(lookUp(own!, problems) === undefined ? shared! : own!, PROTOCOLS);
  read('OTEL_RESOURCE_ATTRIBUTES', ATTRIBUTES);
  const batch = {
    scheduledDelayMillis: read('OTEL_BSP_SCHEDULE_DELAY', MILLISECONDS) ?? 5_000,
    exportTimeoutMillis: read('OTEL_BSP_EXPORT_TIMEOUT', MILLISECONDS) ?? 30_000,
    maxQueueSize: read('OTEL_BSP_MAX_QUEUE_SIZE', SPANS) ?? 2_048,
    maxExportBatchSize: read('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', SPANS) ?? 512,
  };
  return {
    exporter,
    sampler: read('OTEL_TRACES_SAMPLER', SAMPLERS) ?? 'parentbased_always_on',
    ratio: read('OTEL_TRACES_SAMPLER_ARG', RATIO) ?? 1,
    batch,
  };
}
