/**
 * BullMQ: a job for each purchase, which puts itself back with a delay, as its documentation says of steps; the outcome goes to
 * Postgres, and the webhook is a job of another queue. Jobs that are done are removed, as its documentation advises.
 */
import { DelayedError, Queue, Worker } from 'bullmq';
import pg from 'pg';
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import type { ShopEvent } from './http.ts';
import { httpByUndici } from './http-undici.ts';
import { BULLMQ, BULLMQ_WEBHOOKS, redisOptions } from './options.ts';
import { createRecorder } from './record.ts';

interface Poll {
  readonly id: string;
}

answer({
  start: async (settings: PeerSettings) => {
    const { databaseUrl, every, inFlight, redisPort } = settings;
    const connection = redisOptions(redisPort);
    const http = httpByUndici(settings);
    const pool = new pg.Pool({ connectionString: databaseUrl });
    const record = createRecorder(pool, every);
    const options = { connection, ...BULLMQ, concurrency: inFlight };
    const polls = new Queue<Poll>('poll', { connection });
    const webhooks = new Queue<ShopEvent>('webhook', {
      connection,
      defaultJobOptions: BULLMQ_WEBHOOKS,
    });
    const { rows } = await pool.query<Poll>('select id from shop.purchases');
    for (let at = 0; at < rows.length; at += 5_000) {
      await polls.addBulk(rows.slice(at, at + 5_000).map(({ id }) => ({ name: 'poll', data: { id } })));
    }
    const workers = [
      new Worker<Poll>(
        'poll',
        async (job, token) => {
          const event = await record(job.data.id, await http.poll(job.data.id));
          if (event !== null) await webhooks.add('webhook', event);
          await job.moveToDelayed(Date.now() + every, token);
          throw new DelayedError();
        },
        options,
      ),
      new Worker<ShopEvent>('webhook', ({ data }) => http.post(data), options),
    ];
    for (const worker of workers) worker.on('error', (error) => process.stderr.write(`${error.stack}\n`));
  },
});
