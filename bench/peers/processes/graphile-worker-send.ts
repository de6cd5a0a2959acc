/** graphile-worker that sends: a job for each webhook, with the settings of its documentation's figures. */
import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import type { ShopEvent } from './http.ts';
import { httpByUndici } from './http-undici.ts';
import { GRAPHILE, GRAPHILE_CONNECTIONS } from './options.ts';
import { filled } from './outbox.ts';

const complain = (error: Error): void => void process.stderr.write(`${error.stack}\n`);
// It logs each job.
const logger = new Logger(() => () => {});
let pgPool: pg.Pool;
let utils: WorkerUtils;
let runner: Runner | null = null;
let post: (event: ShopEvent) => Promise<void>;

answer({
  open: async (settings: PeerSettings) => {
    post = httpByUndici(settings).post;
    pgPool = new pg.Pool({ connectionString: settings.databaseUrl, max: GRAPHILE_CONNECTIONS });
    pgPool.on('error', complain).on('connect', (client) => void client.on('error', complain));
    utils = await makeWorkerUtils({ pgPool, logger });
    await utils.migrate();
  },
  fill: (count: number) =>
    filled(count, (events) => utils.addJobs(events.map((payload) => ({ identifier: 'webhook', payload })))),
  drain: async () => {
    runner = await run({
      pgPool,
      logger,
      preset: GRAPHILE,
      taskList: { webhook: async (payload) => post(payload as ShopEvent) },
    });
    runner.promise.catch(complain);
  },
  isDone: async () => (await pgPool.query('select from graphile_worker.jobs limit 1')).rowCount === 0,
  rest: async () => {
    await runner?.stop();
    runner = null;
  },
});
