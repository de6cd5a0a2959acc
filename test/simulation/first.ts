import { BEGIN, Scheduler, place, takeOver } from './world/time.ts';
import { Network, useNetwork } from './world/network.ts';
import { createRandom } from './world/random.ts';
import { serve, startEngine } from './world/database.ts';

const realNow = performance.now.bind(performance);
const engine = await startEngine();
const seed = Number(process.argv[2] ?? 1);
const random = createRandom(seed);
const scheduler = new Scheduler();
takeOver(scheduler, random);
const network = new Network(scheduler, { delay: () => 0.2 + random.next(), refuses: () => false });
useNetwork(network, random);
const { createApp } = await import('../../src/app.ts');
const { loadSettings } = await import('../../src/config/load-settings.ts');
const { createLogger } = await import('../../src/runtime/logger.ts');
const { createSimulator } = await import('../../src/simulator/simulator.ts');
const { createServer } = await import('node:http');
const database = place('database');
const server = serve(engine, network, scheduler, database, ['127.0.0.1:5501', '127.0.0.1:5502']);
server.overlaps = true;
const outside = place('outside');
const received: string[] = [];
let simulator: ReturnType<typeof createSimulator>;
scheduler.in(outside, () => {
  simulator = createSimulator({ now: () => BEGIN + scheduler.now });
  createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      received.push(body);
      response.end('ok');
    });
  }).listen(8002, '127.0.0.1');
});
let isStarted = false;
void scheduler.in(outside, () => simulator.start().then(() => (isStarted = true)));
await scheduler.run(1_000, () => isStarted);
const settings = loadSettings({
  DATABASE_URL: 'postgres://postgres@127.0.0.1:5501/postgres',
  DATA_DIR: '/tmp/sim-data',
  CHECKOUT_BASE_URL: simulator!.url,
  CHECKOUT_CLIENT_ID: 'demo-client',
  CHECKOUT_CLIENT_SECRET: 'demo-secret',
  WEBHOOK_URL: 'http://127.0.0.1:8002/hook',
  WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  PORT: '0',
});
const log: string[] = [];
const destination = { write: (line: string) => log.push(line) } as unknown as NodeJS.WritableStream;
const one = place('one');
let app: Awaited<ReturnType<typeof createApp>> | null = null;
let failure: unknown = null;
scheduler.in(one, () =>
  createApp(settings, { log: createLogger({ level: 'debug', destination }), random: random.next })
    .then((made) => {
      app = made;
      return made.start();
    })
    .catch((error) => {
      failure = error;
    }),
);
const t0 = realNow();
await scheduler.run(30_000);
console.log('started', failure, app !== null, realNow() - t0, 'ms', scheduler.steps, server.count);
console.log(log.slice(-5).join(''));
server.overlaps = false;
const { register } = await import('../../src/postgres/purchases/purchases.ts');
const { purchaseId } = scheduler.in(outside, () => simulator!.control.add({}));
scheduler.in(one, () => void register(app!.sql, [{ purchaseId, site: null, reference: null, metadata: null }]));
const t1 = realNow();
const c1 = server.count;
await scheduler.run(30_000 + 600_000);
console.log('ten minutes', realNow() - t1, 'ms', scheduler.steps, server.count - c1, received.length);
console.log(received.slice(0, 2));
console.log(log.length, log.slice(-5).join(''));
const { createHash } = await import('node:crypto');
console.log('digest', createHash('sha256').update(log.join('') + received.join('')).digest('hex').slice(0, 16));
process.exit(0);
