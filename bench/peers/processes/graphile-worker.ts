/**
 * graphile-worker: a job for each poll. Its documentation's figures come from 24 jobs at once, a pool of 25, a local queue of 500
 * and jobs completed in batches; so does this. The next poll and the webhook are jobs that the statement of the outcome adds.
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import type { ShopEvent } from './http.ts';
import { httpByUndici } from './http-undici.ts';
import { GRAPHILE, GRAPHILE_CAREFUL, GRAPHILE_CONNECTIONS } from './options.ts';
import { createRecorder } from './record.ts';

answer({
  start: async (settings: PeerSettings) => {
    const { databaseUrl, every, isCareful = false, resumes = false } = settings;
    const http = httpByUndici(settings);
    const pgPool = new pg.Pool({ connectionString: databaseUrl, max: GRAPHILE_CONNECTIONS });
    const complain = (error: Error): void => void (isCareful || process.stderr.write(`${error.stack}\n`));
    pgPool.on('error', complain).on('connect', (client) => void client.on('error', complain));
    const record = createRecorder(pgPool, every, {
      poll: `graphile_worker.add_job('poll', json_build_object('id', recorded.id), run_at := now() + $3::integer * interval '1 ms')`,
      // Before polls, all of which are due; if it is to be careful, in order per purchase.
      webhook: `graphile_worker.add_job('webhook', json_build_object('id', event.id, 'body', event.body), priority := -1${isCareful ? ', queue_name := recorded.id::text' : ''})`,
    });
    // It logs each job.
    const logger = new Logger(() => () => {});
    const utils = await makeWorkerUtils({ pgPool, logger });
    await utils.migrate();
    const { rows } = await pgPool.query<{ id: string }>("select id from shop.purchases where due_at < 'infinity'");
    for (let at = 0; !resumes && at < rows.length; at += 5_000) {
      await utils.addJobs(rows.slice(at, at + 5_000).map((payload) => ({ identifier: 'poll', payload })));
    }
    const runner = await run({
      pgPool,
      logger,
      preset: isCareful ? GRAPHILE_CAREFUL : GRAPHILE,
      taskList: {
        poll: async (payload) => {
          const { id } = payload as { id: string };
          await record(id, await http.poll(id));
        },
        webhook: async (payload) => http.post(payload as ShopEvent),
      },
    });
    runner.promise.catch(complain);
    // What supervises the process starts another one.
    if (isCareful) runner.promise.finally(() => process.exit(1));
  },
});
