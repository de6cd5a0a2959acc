/**
 * pg-boss: a job for each poll, in batches. `transactional` lets the outcomes, the jobs of the next polls and of the webhooks, and the
 * end of the batch commit together; `burstWhenBatchFull` fetches the next batch at once while there is more; `partition` gives
 * the queue a table of its own.
 */
import { type Job, PgBoss } from 'pg-boss';
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import type { ShopEvent } from './http.ts';
import { httpByUndici } from './http-undici.ts';
import { PG_BOSS, PG_BOSS_CAREFUL, PG_BOSS_CONNECTIONS, PG_BOSS_SUPERVISION } from './options.ts';
import { recordBatch } from './record-batch.ts';

interface Poll {
  readonly id: string;
}

answer({
  start: async (settings: PeerSettings) => {
    const { databaseUrl, every, isCareful = false, resumes = false } = settings;
    const http = httpByUndici(settings);
    const boss = new PgBoss({
      connectionString: databaseUrl,
      max: PG_BOSS_CONNECTIONS,
      ...(isCareful ? PG_BOSS_SUPERVISION : {}),
    });
    boss.on('error', (error) => void (isCareful || process.stderr.write(`${error.stack}\n`)));
    await boss.start();
    await boss.createQueue('poll', { partition: true, ...(isCareful ? PG_BOSS_CAREFUL : {}) });
    // In order per purchase, if it is to be careful.
    const webhooks = isCareful
      ? ({ policy: 'key_strict_fifo', ...PG_BOSS_CAREFUL } as const)
      : { retryLimit: 5, retryBackoff: true };
    await boss.createQueue('webhook', webhooks);
    const { rows } = await boss.getDb().executeSql("select id from shop.purchases where due_at < 'infinity'");
    for (let at = 0; !resumes && at < rows.length; at += 5_000) {
      await boss.insert(
        'poll',
        rows.slice(at, at + 5_000).map(({ id }: Poll) => ({ data: { id } })),
      );
    }
    await boss.work('poll', { ...PG_BOSS, transactional: true }, async (jobs: Job<Poll>[], tx) => {
      const outcomes = await Promise.all(jobs.map(async ({ data: { id } }) => ({ id, state: await http.poll(id) })));
      const events = await recordBatch(tx, outcomes, every);
      const startAfter = new Date(Date.now() + every);
      await boss.insert(
        'poll',
        outcomes.map(({ id }) => ({ data: { id }, startAfter })),
        { db: tx },
      );
      if (events.length > 0)
        await boss.insert(
          'webhook',
          events.map((data) => (isCareful ? { data, singletonKey: data.purchase } : { data })),
          { db: tx },
        );
    });
    await boss.work<ShopEvent>(
      'webhook',
      { batchSize: 50, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5, perJobResults: true },
      // One that fails must not repeat the others of its batch.
      async (jobs) => {
        const posted = await Promise.allSettled(jobs.map(({ data }) => http.post(data)));
        return jobs.map(({ id }, at) => ({ id, status: posted[at]!.status === 'fulfilled' ? 'completed' : 'failed' }));
      },
    );
  },
});
