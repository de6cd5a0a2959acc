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
import { createRecorder } from './record.ts';

/** Longer than the process is ever held still: its jobs must not seem to be stalled. */
const LOCK = 600_000;
const REMOVE = { count: 0 };

interface Poll {
  readonly id: string;
}

answer({
  start: async (settings: PeerSettings) => {
    const { databaseUrl, every, inFlight, redisPort } = settings;
    const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null };
    const http = httpByUndici(settings);
    const pool = new pg.Pool({ connectionString: databaseUrl });
    const record = createRecorder(pool, every);
    const options = { connection, lockDuration: LOCK, stalledInterval: LOCK, removeOnComplete: REMOVE };
    const polls = new Queue<Poll>('poll', { connection });
    const webhooks = new Queue<ShopEvent>('webhook', {
      connection,
      defaultJobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 1_000 } },
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
        { ...options, concurrency: inFlight },
      ),
      new Worker<ShopEvent>('webhook', ({ data }) => http.post(data), { ...options, concurrency: inFlight }),
    ];
    for (const worker of workers) worker.on('error', (error) => process.stderr.write(`${error.stack}\n`));
  },
});
