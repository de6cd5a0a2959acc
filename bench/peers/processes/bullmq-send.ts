/** BullMQ that sends: a job for each webhook, which is removed when it is done. */
import { Queue, Worker } from 'bullmq';
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import type { ShopEvent } from './http.ts';
import { httpByUndici } from './http-undici.ts';
import { BULLMQ, BULLMQ_WEBHOOKS, redisOptions } from './options.ts';
import { filled } from './outbox.ts';

let queue: Queue<ShopEvent>;
let worker: Worker<ShopEvent>;

answer({
  open: async (settings: PeerSettings) => {
    const connection = redisOptions(settings.redisPort);
    const { post } = httpByUndici(settings);
    queue = new Queue<ShopEvent>('sending', {
      connection,
      defaultJobOptions: BULLMQ_WEBHOOKS,
    });
    worker = new Worker<ShopEvent>('sending', ({ data }) => post(data), {
      ...{ connection, ...BULLMQ, concurrency: settings.inFlight, autorun: false },
    });
    worker.on('error', (error) => process.stderr.write(`${error.stack}\n`));
    await worker.pause();
    void worker.run();
  },
  fill: (count: number) => filled(count, (events) => queue.addBulk(events.map((data) => ({ name: 'webhook', data })))),
  drain: () => worker.resume(),
  isDone: async () => (await queue.count()) + (await queue.getActiveCount()) === 0,
  rest: () => worker.pause(),
});
