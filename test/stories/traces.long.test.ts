/** Traces as an operator's collector gets them, from a daemon that is a process of its own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { type CollectedSpan, startCollector } from '../support/otlp-collector.ts';
import { SECRET, startTestApp } from '../support/test-app.ts';
import { startWire } from '../support/wire.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

async function startShop() {
  const t = await startTestApp({ realClock: true, simulator: { load: 0 } });
  cleanUp.push(() => t.stop());
  const start = (env: Record<string, string>): Daemon => {
    const daemon = startDaemon(['start'], {
      DATABASE_URL: t.database.url,
      CHECKOUT_BASE_URL: t.simulator.url,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
      WEBHOOK_URL: t.receiver.url,
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
      PORT: '0',
      ...env,
    });
    cleanUp.push(() => daemon.end('SIGKILL'));
    return daemon;
  };
  return { t, start };
}

async function collector() {
  const collecting = await startCollector();
  cleanUp.push(collecting.stop);
  return { ...collecting, spans: (): CollectedSpan[] => collecting.received.flatMap(({ spans }) => [...spans]) };
}

/** A file with this content, in a folder that nothing else uses. */
function fileOf(name: string, content: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'purchase-watch-test-')), name);
  writeFileSync(path, content);
  return path;
}

/** The line of the service, and each `traceparent` header that passed. */
async function listeningLine(url: string) {
  const heard: string[] = [];
  const up = (chunk: Buffer): Buffer => {
    for (const [, value] of chunk.toString('latin1').matchAll(/\r\ntraceparent: (\S+)/g)) heard.push(value!);
    return chunk;
  };
  const wire = await startWire(url, () => ({ up, down: (chunk) => chunk }));
  cleanUp.push(wire.stop);
  return { url: wire.url, heard };
}

/** Options of Node.js with which a daemon writes the address of each module that it loads. */
function namingModules(): string {
  const load = '(url, context, next) => (console.log("loads", url), next(url, context))';
  return `--import ${fileOf('hook.mjs', `import { registerHooks } from 'node:module';\nregisterHooks({ load: ${load} });`)}`;
}

/** Quick polls and retries. */
const QUICK = `webhooks:
  schedule: [100ms, 1s]
states:
  BeingProcessed: { poll: { first: 200ms, most: 200ms } }
`;
/** Spans stay in memory until the daemon stops, or so many wait. */
const NOT_BEFORE_STOP = { OTEL_BSP_SCHEDULE_DELAY: '3600000' };
const STATUS = 'POST /CheckOut2Api/GetPaymentStatus';

/** The spans of a trace, each as the names from the root to it. */
function pathsOf(spans: readonly CollectedSpan[], traceId: string): string[] {
  const own = spans.filter((span) => span.traceId === traceId);
  const pathOf = ({ name, parentId }: CollectedSpan): string => {
    const parent = own.find(({ spanId }) => spanId === parentId);
    return parent === undefined ? name : `${pathOf(parent)} > ${name}`;
  };
  return own.map(pathOf).sort();
}

const traceparentOf = ({ traceId, spanId }: CollectedSpan): string => `00-${traceId}-${spanId}-01`;

test('a change is one trace from the call of the service to the receiver, an unchanged poll has none, and a stop exports what is left', async () => {
  const { t, start } = await startShop();
  const { origin, received, spans } = await collector();
  const service = await listeningLine(t.simulator.url);
  const daemon = start({
    CHECKOUT_BASE_URL: service.url,
    PURCHASE_WATCH_CONFIG: fileOf('config.yaml', QUICK),
    OTEL_EXPORTER_OTLP_ENDPOINT: origin,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=shop',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    ...NOT_BEFORE_STOP,
  });
  // From its first delivery on, the notifier needs no read of the outbox for new events.
  await t.watch({ script: [{ state: 'Completed' }] });
  await t.receiver.waitFor((events) => events.length === 1);
  // The first attempt of the second event is refused.
  t.receiver.respond({}, { status: 503 });
  const registration = { reference: 'ORD-4711', metadata: '{"who":"Ada"}' };
  const purchase = await t.watch({ script: [{ state: 'BeingProcessed' }] }, registration);
  await t.receiver.waitFor((events) => events.length === 2);
  const polls = () => t.simulator.control.counters().calls.status;
  const before = polls();
  await expect.poll(polls).toBeGreaterThan(before + 3);
  t.simulator.control.fail({ kind: '500', times: 1, only: 'status' });
  await expect.poll(() => t.simulator.control.counters().faults).toBe(1);
  t.simulator.control.setState(purchase, 'Completed');
  await t.receiver.waitFor((events) => events.length === 4);
  expect(received).toEqual([]);
  expect(await daemon.end('SIGTERM')).toBe(0);

  const polled = spans().filter(({ attributes }) => attributes['purchase_watch.purchase_id'] === purchase);
  const [first, failed, moved, ...others] = polled;
  expect(others).toEqual([]);
  const asked = ['poll', `poll > ${STATUS}`, 'poll > decide'];
  const told = ['poll > record', 'poll > record > UPDATE purchases', 'poll > deliver', 'poll > deliver > POST'];
  for (const { traceId } of [first!, moved!]) expect(pathsOf(spans(), traceId)).toEqual([...asked, ...told].sort());
  expect(pathsOf(spans(), failed!.traceId)).toEqual(asked.sort());
  expect(failed).toMatchObject({
    isError: true,
    attributes: { 'error.type': 'http_500', 'purchase_watch.outcome': 'postponed' },
  });
  expect(moved!.attributes).toEqual({
    'purchase_watch.site': 'default',
    'purchase_watch.purchase_id': purchase,
    'purchase_watch.outcome': 'changed',
    'purchase_watch.reason': 'moved',
    'purchase_watch.state.from': 'BeingProcessed',
    'purchase_watch.state.to': 'Completed',
  });
  const one = (name: string, trace = moved!) => spans().find((span) => span.name === name && span.traceId === trace.traceId)!;
  const { hostname, port } = new URL(service.url);
  const call = { 'http.request.method': 'POST', 'server.address': hostname, 'server.port': Number(port) };
  const url = new URL('/CheckOut2Api/GetPaymentStatus', service.url).href;
  expect(one(STATUS)).toMatchObject({ kind: 'client', isError: false });
  expect(one(STATUS).attributes).toEqual({ ...call, 'url.full': url, 'http.response.status_code': 200 });
  expect(one(STATUS, failed!)).toMatchObject({
    isError: true,
    attributes: { 'http.response.status_code': 500, 'error.type': '500' },
  });
  expect(one('UPDATE purchases')).toMatchObject({ kind: 'client', attributes: { 'db.system.name': 'postgresql' } });
  expect(one('deliver')).toMatchObject({ kind: 'producer', isError: true, attributes: { 'error.type': 'http_503' } });
  // A retry is a trace of its own.
  const again = spans().find(({ name, parentId, links }) => name === 'deliver' && parentId === '' && links.length > 0)!;
  expect(again.links).toEqual([{ traceId: moved!.traceId, spanId: moved!.spanId }]);
  expect(again.attributes).toMatchObject({ 'purchase_watch.attempt': 2 });

  expect(service.heard).toEqual(expect.arrayContaining([first, failed, moved].map((root) => traceparentOf(one(STATUS, root)))));
  expect(t.receiver.received.slice(1).map(({ headers }) => headers.traceparent)).toEqual(
    [first!, moved!, again].map((root) => traceparentOf(one('POST', root))),
  );
  expect(t.receiver.received.every(({ verified }) => verified)).toBe(true);

  const [exported] = received;
  expect(received).toHaveLength(1);
  expect(exported).toMatchObject({ path: '/v1/traces', headers: { 'x-tenant': 'shop' } });
  expect(exported!.resource).toMatchObject({ 'service.name': 'purchase-watch', 'deployment.environment.name': 'test' });
  const secrets = ['demo-secret', SECRET, 'Bearer', '/hook', 'ORD-4711', 'Ada', ...t.simulator.control.sensitiveValues()];
  expect(secrets.length).toBeGreaterThan(10);
  expect(secrets.filter((secret) => exported!.bytes.includes(secret))).toEqual([]);
});

test('while the collector is away, purchases are polled and delivered, few spans are kept, the log says so once, and a stop is a good one', async () => {
  const { t, start } = await startShop();
  const { origin, received, respondAlways, spans } = await collector();
  respondAlways({ status: 400 });
  const daemon = start({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${origin}/here`,
    OTEL_SERVICE_NAME: 'watch-eu',
    NODE_OPTIONS: namingModules(),
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_BSP_MAX_QUEUE_SIZE: '40',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '20',
  });
  await daemon.says('started');
  for (let count = 0; count < 3; count++) await t.watch({ script: [{ state: 'Completed' }] });
  await t.receiver.waitFor((events) => events.length === 3);
  await expect.poll(() => received.length).toBeGreaterThan(1);
  expect(received[0]).toMatchObject({ path: '/here', resource: { 'service.name': 'watch-eu' } });
  // From here on it takes connections and answers nothing.
  respondAlways({ hang: 'answer' });
  for (let count = 0; count < 30; count++) await t.watch({ script: [{ state: 'Completed' }] });
  await t.receiver.waitFor((events) => events.length === 33);
  const seen = spans().length;
  expect(await daemon.end('SIGTERM')).toBe(0);
  const left = spans().length - seen;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(40);
  expect(daemon.output().match(/"traces\.not_exported"/g)).toHaveLength(1);
  expect(daemon.output()).not.toContain('stop.cut_short');
  expect(daemon.output()).toMatch(/loads file:.*@opentelemetry/);
});

test('without the variables no part of OpenTelemetry is loaded, and nothing is traced', async () => {
  const { t, start } = await startShop();
  const daemon = start({ NODE_OPTIONS: namingModules(), OTEL_SERVICE_NAME: 'set for every program of the machine' });
  await daemon.says('started');
  await t.watch({ script: [{ state: 'Completed' }] });
  const [event] = await t.receiver.waitFor(({ length }) => length === 1);
  await daemon.end('SIGTERM');
  expect(daemon.output()).toMatch(/loads file:.*webhook\.ts/);
  expect(daemon.output()).not.toMatch(/loads .*opentelemetry/);
  expect(event!.headers).not.toHaveProperty('traceparent');
});
