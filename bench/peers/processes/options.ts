/** What each queue's documentation names for throughput: the same for its polls and for its webhooks. */

/** Batches of jobs under way, and jobs in each: as many calls are in flight as the daemon may have, and more wait in memory. */
export const PG_BOSS = { batchSize: 250, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
export const PG_BOSS_CONNECTIONS = 10;
/** For crashes: a job without a sign of life for ten seconds, the shortest that pg-boss allows, is tried again; and no outage uses up the tries. */
export const PG_BOSS_CAREFUL = { heartbeatSeconds: 10, retryLimit: 100, retryDelay: 1, retryBackoff: true, retryDelayMax: 60 };
export const PG_BOSS_SUPERVISION = { superviseIntervalSeconds: 5, monitorIntervalSeconds: 5 };

const AT_ONCE = 24;
export const GRAPHILE = {
  worker: { concurrentJobs: AT_ONCE, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
};
/** For crashes: what a local queue holds, and what waits to be completed together, would be stuck with the process. */
export const GRAPHILE_CAREFUL = { worker: { concurrentJobs: AT_ONCE } };
export const GRAPHILE_CONNECTIONS = AT_ONCE + 1;

/** Longer than the process is ever held still: its jobs must not seem to be stalled. */
const LOCK = 600_000;
/** Jobs that are done are removed. */
export const BULLMQ = { lockDuration: LOCK, stalledInterval: LOCK, removeOnComplete: { count: 0 } };
export const BULLMQ_WEBHOOKS = { attempts: 5, backoff: { type: 'exponential', delay: 1_000 } };
export const redisOptions = (port: number) => ({ host: '127.0.0.1', port, maxRetriesPerRequest: null });
