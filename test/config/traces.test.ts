/** OpenTelemetry's variables, as the daemon reads them. */
import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';

const read = (env: Record<string, string>) => loadSettings(env).traces;
const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test.each([
  ['nothing', {}],
  [
    'what an image may set for all programs',
    { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on', OTEL_PROPAGATORS: 'b3' },
  ],
  ['no exporter', { ...COLLECTOR, OTEL_TRACES_EXPORTER: 'none' }],
  ['the SDK disabled', { ...COLLECTOR, OTEL_SDK_DISABLED: 'true' }],
  ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
])('%s means no traces', (_, env) => {
  expect(read(env)).toBeNull();
});

test('an endpoint or an exporter is enough', () => {
  const preset = { sampler: 'parentbased_always_on', ratio: 1 };
  expect(read(COLLECTOR)).toMatchObject({ exporter: 'otlp', ...preset });
  expect(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' })).toMatchObject({ exporter: 'otlp' });
  expect(read({ OTEL_TRACES_EXPORTER: 'otlp' })).toMatchObject({ exporter: 'otlp' });
  expect(read({ OTEL_TRACES_EXPORTER: 'console' })).toMatchObject({ exporter: 'console' });
});

test('sampler and limits are as they are set', () => {
  const sampled = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.05' };
  expect(read({ ...COLLECTOR, ...sampled, OTEL_BSP_MAX_QUEUE_SIZE: '100' })).toEqual({
    exporter: 'otlp',
    sampler: 'parentbased_traceidratio',
    ratio: 0.05,
    batch: { scheduledDelayMillis: 5_000, exportTimeoutMillis: 30_000, maxQueueSize: 100, maxExportBatchSize: 512 },
  });
});

test.each([
  ['OTEL_TRACES_EXPORTER', 'zipkin', /OTEL_TRACES_EXPORTER: "zipkin" is not one of otlp, console, none/],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /OTEL_TRACES_SAMPLER: "jaeger_remote" is not one of parentbased_always_on,/],
  ['OTEL_TRACES_SAMPLER_ARG', '5', /OTEL_TRACES_SAMPLER_ARG: "5" is not a number from 0 to 1/],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not http\/protobuf/],
  ['OTEL_RESOURCE_ATTRIBUTES', 'production', /OTEL_RESOURCE_ATTRIBUTES: "production" is not a list such as/],
  ['OTEL_BSP_MAX_QUEUE_SIZE', 'many', /OTEL_BSP_MAX_QUEUE_SIZE: "many" is not a whole number/],
  ['OTEL_SDK_DISABLED', 'yes', /OTEL_SDK_DISABLED: "yes" is not true or false/],
])('a wrong %s is refused', (name, value, problem) => {
  expect(() => read({ ...COLLECTOR, [name]: value })).toThrow(problem);
});

test('a wrong endpoint is refused without its password', () => {
  const wrong = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:hush@collector:4318' };
  expect(() => read(wrong)).toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT: ".*" is not an http or https address/);
  expect(() => read(wrong)).not.toThrow(/hush/);
});
