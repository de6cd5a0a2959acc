/** Traces that the sampler keeps or leaves out, exported to a collector over HTTP. */
import { afterEach, expect, test, vi } from 'vitest';
import { createLogger } from '../../../src/runtime/logger.ts';
import { openTraces } from '../../../src/runtime/traces/open.ts';
import type { TraceSettings, Traces } from '../../../src/runtime/traces/traces.ts';
import { aPurchase } from '../../support/a-purchase.ts';
import { startCollector } from '../../support/otlp-collector.ts';

const SETTINGS: TraceSettings = {
  ...{ exporter: 'otlp', sampler: 'parentbased_always_on', ratio: 1 },
  batch: { scheduledDelayMillis: 60_000, exportTimeoutMillis: 5_000, maxQueueSize: 100, maxExportBatchSize: 100 },
};
const collector = await startCollector();
const spans = () => collector.received.flatMap((each) => [...each.spans]);
afterEach(() => vi.unstubAllEnvs());

async function begin(settings: Partial<TraceSettings> = {}): Promise<Traces> {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.origin);
  const daemon = { replica: 'rep_1', version: '1.2.3', log: createLogger({ level: 'silent' }) };
  return (await openTraces({ ...SETTINGS, ...settings }, daemon))!;
}

/** A poll that is recorded with one event; answers its `traceparent`, and that of the first attempt to deliver the event. */
function pollAndDeliver(traces: Traces, event: string, ids: readonly number[] = [1]): string[] {
  const poll = { purchase: aPurchase() };
  const asking = traces.beginPoll(poll);
  traces.recorded([poll], performance.now(), { ids: new Set(ids), deliveries: { rows: [{ lane: 1, event: { id: event } }] } });
  return [asking.traceparent, attempt(traces, event)];
}

function attempt(traces: Traces, event: string): string {
  const delivering = traces.beginAttempt({
    event: { id: event, type: 'purchase.state_changed' },
    subscriber: 'shop',
    attempt: 1,
  });
  delivering.end(null);
  return delivering.traceparent;
}

test('what the sampler leaves out stays out to the end: it is announced as such, and its delivery is not exported either', async () => {
  const traces = await begin({ sampler: 'parentbased_traceidratio', ratio: 0 });
  const [asked, delivered] = pollAndDeliver(traces, 'evt_1');
  await traces.close();
  expect(asked).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  expect(delivered!.slice(0, 35)).toBe(asked!.slice(0, 35));
  expect(delivered).toMatch(/-00$/);
  expect(spans()).toEqual([]);
});

test('the exporter named console writes spans to the output', async () => {
  const written = vi.spyOn(console, 'dir').mockImplementation(() => undefined);
  const traces = await begin({ exporter: 'console' });
  attempt(traces, 'evt_1');
  await traces.close();
  expect(written.mock.calls.map(([span]) => span.name)).toEqual(['deliver']);
  written.mockRestore();
});

test('a poll whose row had changed meanwhile says so, and events beyond the newest ten thousand begin traces of their own', async () => {
  const traces = await begin();
  const [asked, delivered] = pollAndDeliver(traces, 'evt_1', []);
  expect(delivered!.slice(0, 35)).toBe(asked!.slice(0, 35));
  for (let count = 0; count < 10_000; count++) pollAndDeliver(traces, `evt_later_${count}`);
  expect(attempt(traces, 'evt_1').slice(0, 35)).not.toBe(asked!.slice(0, 35));
  expect(attempt(traces, 'evt_later_0').slice(0, 35)).not.toBe(asked!.slice(0, 35));
  await traces.close();
  const [first] = spans().filter(({ name }) => name === 'record');
  expect(first).toMatchObject({ isError: true, attributes: { 'error.type': 'refused' } });
  await collector.stop();
});
