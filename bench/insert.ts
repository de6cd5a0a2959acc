/** From a plain SQL insert by any program to the poll it causes, on a daemon with nothing else to do. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { percentile } from './measure.ts';
import { machineTime, purchaseId } from './processes/messages.ts';

export const insert: Bench = async (lab, { quick }) => {
  const inserts = quick ? 40 : 200;
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: 0, note: true });
  const database = await lab.database();
  const { daemon } = await lab.daemon(database, { every: 60_000 });
  await delay(2_000);
  const asked = new Map<number, { before: number; after: number }>();
  for (let index = 0; index < inserts; index++) {
    const before = machineTime();
    await database.sql`insert into purchase_watch.purchases (purchase_id) values (${purchaseId(index)}) on conflict do nothing`;
    asked.set(index, { before, after: machineTime() });
    // Not in step with anything the daemon does.
    await delay(20 + Math.random() * 80);
  }
  await delay(1_000);
  const firsts = await lab.service.ask<{ index: number; at: number }[]>('firsts');
  await daemon.stop();
  await database.drop();
  const took = firsts.map(({ index, at }) => at - asked.get(index)!.before);
  const sinceCommit = firsts.map(({ index, at }) => at - asked.get(index)!.after);
  return {
    bench: 'insert',
    how: `plain SQL insert to the request that arrives at the service, ${firsts.length} inserts one by one`,
    rows: [
      { what: 'from before the insert, p50', value: percentile(took, 0.5), unit: 'ms' },
      { what: 'from before the insert, p99', value: percentile(took, 0.99), unit: 'ms', atMost: 200 },
      { what: 'from its end, p50', value: percentile(sinceCommit, 0.5), unit: 'ms' },
      { what: 'not polled within a second', value: inserts - firsts.length, unit: '', atMost: 0 },
    ],
  };
};
