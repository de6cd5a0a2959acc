/** From the answer that shows a change to the webhook about it: at leisure, at full speed, and while a bulk load of new purchases drains. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench, BenchOptions } from './bench.ts';
import { type Database, IN_FLIGHT, type Lab, type Part, SECRET } from './lab.ts';
import { observe, percentile, type Window } from './measure.ts';
import type { BareChangeRun } from './processes/bare-change.ts';
import type { Sighting } from './processes/messages.ts';
import { seed } from './seed.ts';

interface Load {
  readonly purchases: number;
  readonly every: number;
  readonly changeEvery: number;
  readonly ms: number;
  /** New purchases that are registered at once when the observation begins; none unless given. */
  readonly newcomers?: number;
}

/** Numbers of new purchases begin here, above all that are watched. */
const FIRST_NEWCOMER = 8_000_000;

export const change: Bench = async (lab, options) => {
  const ms = options.quick ? 3_000 : 15_000;
  const leisure = { purchases: 200, every: 1_000, changeEvery: 10, ms };
  const fullSpeed = { purchases: 60_000, every: 400, changeEvery: 50, ms };
  const calm = await latencies(lab, leisure, options);
  const bareCalm = await bareLatencies(lab, leisure, options);
  const busy = await latencies(lab, fullSpeed, options);
  const bareBusy = await bareLatencies(lab, fullSpeed, options);
  const newcomers = options.quick ? 20_000 : 100_000;
  const loaded = await latencies(
    lab,
    { purchases: 1_000, every: 1_000, changeEvery: 10, ms: options.quick ? 5_000 : 20_000, newcomers },
    options,
  );
  return {
    bench: 'change',
    how: `answer that shows a change to webhook received; ${calm.took.length} changes at leisure, ${busy.took.length} at full speed, ${loaded.took.length} beside ${newcomers} new purchases`,
    rows: [
      { what: 'at leisure, p50', value: percentile(calm.took, 0.5), unit: 'ms' },
      { what: 'at leisure, p99', value: percentile(calm.took, 0.99), unit: 'ms', atMost: 10 },
      { what: 'at leisure, bare loop, p50', value: percentile(bareCalm, 0.5), unit: 'ms' },
      { what: 'at leisure, bare loop, p99', value: percentile(bareCalm, 0.99), unit: 'ms' },
      { what: 'at full speed, p50', value: percentile(busy.took, 0.5), unit: 'ms' },
      { what: 'at full speed, p99', value: percentile(busy.took, 0.99), unit: 'ms', atMost: 25 },
      { what: 'at full speed, bare loop, p50', value: percentile(bareBusy, 0.5), unit: 'ms' },
      { what: 'at full speed, bare loop, p99', value: percentile(bareBusy, 0.99), unit: 'ms' },
      { what: 'at full speed, polls recorded while telling', value: busy.window.pollsPerSecond, unit: '/s' },
      { what: `beside ${newcomers} new purchases, p50`, value: percentile(loaded.took, 0.5), unit: 'ms' },
      { what: `beside ${newcomers} new purchases, p99`, value: percentile(loaded.took, 0.99), unit: 'ms', atMost: 25 },
      { what: 'first polls of new purchases still due at its end', value: loaded.unpolled, unit: '' },
      { what: 'changes without a webhook by the end', value: calm.untold + busy.untold + loaded.untold, unit: '' },
    ],
  };
};

interface Loaded extends Telling {
  /** New purchases that had no first poll when the observation ended. */
  readonly unpolled: number;
}

async function latencies(
  lab: Lab,
  { purchases, every, changeEvery, ms, newcomers = 0 }: Load,
  { say, quick }: BenchOptions,
): Promise<Loaded> {
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
  const telling = changesTold(lab, { database, daemon, receiver, changeEvery, ms, counts: (index) => index < FIRST_NEWCOMER });
  if (newcomers > 0) await registerAtOnce(database.sql, newcomers);
  const told = await telling;
  const [{ unpolled }] = await database.sql<[{ unpolled: number }]>`
    select count(*)::int as unpolled from purchase_watch.purchases where seen_at is null`;
  await Promise.all([daemon.stop(), receiver.stop()]);
  await database.drop();
  say(`${purchases} purchases: ${told.took.length} of ${told.took.length + told.untold} changes told`);
  return { ...told, unpolled };
}

/** The same work at the same pace by a loop that commits a row for a change and posts it, and does nothing else: the floor of this machine. */
async function bareLatencies(
  lab: Lab,
  { purchases, every, changeEvery, ms }: Load,
  { say, quick }: BenchOptions,
): Promise<number[]> {
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery, note: false });
  const database = await lab.database({ empty: true });
  const receiver = await lab.start('receiver');
  const bare = await lab.start('bare-change');
  const warmUp = quick ? 2_000 : 8_000;
  const settings: BareChangeRun = {
    ...{ service: lab.serviceUrl, receiver: await receiver.ask<string>('url'), databaseUrl: database.url, secret: SECRET },
    ...{ purchases, every, inFlight: IN_FLIGHT, ms: warmUp + ms },
  };
  const running = bare.ask('run', settings);
  await delay(warmUp);
  await receiver.ask('note', true);
  await lab.service.ask('set', { changeEvery, note: true });
  await running;
  const took = waits(await lab.service.ask<Sighting[]>('changes'), await receiver.ask<Sighting[]>('receipts'));
  await lab.service.ask('set', { changeEvery, note: false });
  await Promise.all([bare.stop(), receiver.stop()]);
  await database.drop();
  say(`${purchases} purchases: ${took.length} changes told by the bare loop`);
  return took;
}

/** As a program that loads a file. */
async function registerAtOnce(sql: Database['sql'], count: number): Promise<void> {
  await sql`
    insert into purchase_watch.purchases (purchase_id)
    select '00000000-0000-4000-8000-' || lpad(to_hex(${FIRST_NEWCOMER}::int + i), 12, '0') from generate_series(0, ${count - 1}::int) as i`;
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
    counts = () => true,
  }: { database: Database; daemon: Part; receiver: Part; changeEvery: number; ms: number; counts?: (index: number) => boolean },
): Promise<Telling> {
  await receiver.ask('note', true);
  await lab.service.ask('set', { changeEvery, note: true });
  const window = await observe(lab, database, daemon, ms);
  const changes = (await lab.service.ask<Sighting[]>('changes')).filter(({ index }) => counts(index));
  await lab.service.ask('set', { changeEvery, note: false });
  await delay(1_000);
  const receipts = await receiver.ask<Sighting[]>('receipts');
  const took = waits(changes, receipts);
  return { took, untold: changes.length - took.length, window };
}

/** Each change with the first message about it that came after it, in milliseconds. A change without a message is left out, or counts as waiting until `end`. */
export function waits(changes: readonly Sighting[], receipts: readonly Sighting[], end: number | null = null): number[] {
  const key = ({ index, state }: Sighting): string => `${index} ${state}`;
  const messages = Map.groupBy(receipts, key);
  return changes.flatMap((seen) => {
    const waiting = messages.get(key(seen)) ?? [];
    const at = waiting.findIndex((message) => message.at >= seen.at);
    if (at < 0) return end === null ? [] : [end - seen.at];
    const [message] = waiting.splice(at, 1);
    return [message!.at - seen.at];
  });
}
