/** One healthy subscriber at a constant rate: from the commit to the webhook. */
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchOptions } from '../bench.ts';
import type { Lab } from '../lab.ts';
import { percentile } from '../measure.ts';
import { machineTime } from '../processes/messages.ts';
import type { Row } from '../report.ts';
import { channelsAlerted, openScene } from './scene.ts';
import { tally, waits } from './tally.ts';

/** Few enough that each has many events, some of them right after one another. */
const PURCHASES = 500;
export const RATE = 200;
/** What is not received so long after the last commit is lost. */
export const LAST_RECEIPT = 2_000;

export async function steady(lab: Lab, { quick, say }: BenchOptions): Promise<Row[]> {
  const receiver = await lab.start('receiver');
  const scene = await openScene(lab, { changing: PURCHASES, subscribers: { shop: await receiver.ask<string>('url') } });
  await receiver.ask('note', true);
  await scene.begin(RATE);
  await delay(quick ? 2_000 : 5_000);
  const from = machineTime();
  await delay(quick ? 6_000 : 30_000);
  const to = machineTime();
  const commits = await scene.end();
  await delay(LAST_RECEIPT);
  const receipts = await channelsAlerted(receiver, '/events');
  const { rss } = await scene.daemon.usage();
  await scene.close();
  await receiver.stop();
  const { sinceCommit, sincePlanned, committing } = waits(commits, receipts, { from, to });
  const { lost, repeats, overtaken } = tally(commits, receipts);
  say(`steady: ${commits.length} committed, ${receipts.length} received`);
  return [
    { what: `commit to receipt at ${RATE}/s, p50`, value: percentile(sinceCommit, 0.5), unit: 'ms' },
    { what: `commit to receipt at ${RATE}/s, p99`, value: percentile(sinceCommit, 0.99), unit: 'ms', atMost: 50 },
    { what: 'from the planned moment, p99', value: percentile(sincePlanned, 0.99), unit: 'ms', atMost: 50 },
    { what: 'from the planned moment, longest', value: percentile(sincePlanned, 1), unit: 'ms' },
    { what: 'of which until the commit was answered, p99', value: percentile(committing, 0.99), unit: 'ms' },
    { what: 'lost', value: lost, unit: '', atMost: 0 },
    { what: 'repeated', value: repeats, unit: '', atMost: 0 },
    { what: 'out of order', value: overtaken, unit: '', atMost: 0 },
    { what: 'memory of the daemon (RSS)', value: rss / 1e6, unit: 'MB' },
  ];
}
