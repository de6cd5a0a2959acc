/** From the answer that shows a change to the webhook about it: at leisure, and at full speed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, BenchOptions } from './bench.ts';
import { type Database, type Lab, type Part, SECRET } from './lab.ts';
import { observe, percentile, type Window } from './measure.ts';
import type { Sighting } from './processes/messages.ts';
import { seed } from './seed.ts';

interface Load {
  readonly purchases: number;
  readonly every: number;
  readonly changeEvery: number;
  readonly ms: number;
}

export const change: Bench = async (lab, options) => {
  const ms = options.quick ? 3_000 : 15_000;
  const calm = await latencies(lab, { purchases: 200, every: 1_000, changeEvery: 10, ms }, options);
  const busy = await latencies(lab, { purchases: 60_000, every: 400, changeEvery: 50, ms }, options);
  return {
    bench: 'change',
    how: `answer that shows a change to webhook received; ${calm.took.length} changes at leisure, ${busy.took.length} at full speed`,
    rows: [
      { what: 'at leisure, p50', value: percentile(calm.took, 0.5), unit: 'ms' },
      { what: 'at leisure, p99', value: percentile(calm.took, 0.99), unit: 'ms', atMost: 15 },
      { what: 'at full speed, p50', value: percentile(busy.took, 0.5), unit: 'ms' },
      { what: 'at full speed, p99', value: percentile(busy.took, 0.99), unit: 'ms', atMost: 50 },
      { what: 'at full speed, polls recorded while telling', value: busy.window.pollsPerSecond, unit: '/s' },
      { what: 'not told by the end', value: calm.untold + busy.untold, unit: '' },
    ],
  };
};

async function latencies(lab: Lab, { purchases, every, changeEvery, ms }: Load, { say, quick }: BenchOptions): Promise<Telling> {
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery, note: false });
  const database = await lab.database();
  await seed(database.sql, { count: purchases, dueEach: 1 });
  const receiver = await lab.start('receiver');
  const { daemon } = await lab.daemon(database, {
    every,
    env: {
      WEBHOOK_URL: await receiver.ask<string>('url'),
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
    },
  });
  await delay(quick ? 2_000 : 8_000);
  const told = await changesTold(lab, { database, daemon, receiver, changeEvery, ms });
  await Promise.all([daemon.stop(), receiver.stop()]);
  await database.drop();
  say(`${purchases} purchases: ${told.took.length} of ${told.took.length + told.untold} changes told`);
  return told;
}

interface Telling {
  /** Milliseconds from the answer that showed a change to its webhook. */
  readonly took: number[];
  /** Changes without a webhook by the end. */
  readonly untold: number;
  readonly window: Window;
}

/** Observes a daemon that polls and delivers to this receiver. */
export async function changesTold(
  lab: Lab,
  {
    database,
    daemon,
    receiver,
    changeEvery,
    ms,
  }: { database: Database; daemon: Part; receiver: Part; changeEvery: number; ms: number },
): Promise<Telling> {
  await receiver.ask('note', true);
  await lab.service.ask('set', { changeEvery, note: true });
  const window = await observe(lab, database, daemon, ms);
  const changes = await lab.service.ask<Sighting[]>('changes');
  await lab.service.ask('set', { changeEvery, note: false });
  await delay(1_000);
  const receipts = await receiver.ask<Sighting[]>('receipts');
  const took = matched(changes, receipts);
  return { took, untold: changes.length - took.length, window };
}

/** Each change with the first message about it that came after it, in milliseconds. */
function matched(changes: readonly Sighting[], receipts: readonly Sighting[]): number[] {
  const key = ({ index, state }: Sighting): string => `${index} ${state}`;
  const messages = Map.groupBy(receipts, key);
  return changes.flatMap((seen) => {
    const waiting = messages.get(key(seen)) ?? [];
    const at = waiting.findIndex((message) => message.at >= seen.at);
    if (at < 0) return [];
    const [message] = waiting.splice(at, 1);
    return [message!.at - seen.at];
  });
}
