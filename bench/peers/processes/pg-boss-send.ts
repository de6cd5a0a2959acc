/** pg-boss that sends: a job for each webhook, fetched in batches and completed together when all of a batch were posted. */
import { type Job, PgBoss } from 'pg-boss';
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import type { ShopEvent } from './http.ts';
import { httpByUndici } from './http-undici.ts';
import { PG_BOSS, PG_BOSS_CONNECTIONS } from './options.ts';
import { filled } from './outbox.ts';

const QUEUE = 'webhook';

let boss: PgBoss;
let post: (event: ShopEvent) => Promise<void>;

answer({
  open: async (settings: PeerSettings) => {
    post = httpByUndici(settings).post;
    boss = new PgBoss({ connectionString: settings.databaseUrl, max: PG_BOSS_CONNECTIONS });
    boss.on('error', (error) => process.stderr.write(`${error.stack}\n`));
    await boss.start();
    await boss.createQueue(QUEUE, { partition: true, retryLimit: 5, retryBackoff: true });
  },
  fill: (count: number) =>
    filled(count, (events) =>
      boss.insert(
        QUEUE,
        events.map((data) => ({ data })),
      ),
    ),
  drain: async () => {
    await boss.work<ShopEvent>(QUEUE, PG_BOSS, async (jobs: Job<ShopEvent>[]) => {
      await Promise.all(jobs.map(({ data }) => post(data)));
    });
  },
  isDone: async () => {
    const left = `select from pgboss.job where name = '${QUEUE}' and state < 'completed' limit 1`;
    return (await boss.getDb().executeSql(left)).rows.length === 0;
  },
  rest: () => boss.offWork(QUEUE),
});
