/** A receiver that took nothing for an hour, and heals: its backlog drains in order, and gently. */
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchOptions } from '../bench.ts';
import { IN_FLIGHT, type Lab } from '../lab.ts';
import { machineTime, type Receipt } from '../processes/messages.ts';
import type { Row } from '../report.ts';
import { addBacklog, expectedOf } from './backlog.ts';
import { channelsAlerted, openScene } from './scene.ts';
import { LAST_RECEIPT } from './steady.ts';
import { tally } from './tally.ts';

const CHANGING = 200;
const EVENTS_EACH = 5;
const HOUR = 3_600_000;
/** Events go on while it is away and while it drains. */
const RATE = 20;
/** What the receiver takes for one, so that many can be in flight at once. */
const ANSWERS_AFTER = 20;
/** It refuses everything for so long before an hour is said to have passed. */
const REFUSES_FOR = 3_000;
const HEALS_AFTER = 1_000;
const DRAINED_WITHIN = 90_000;

export async function outage(lab: Lab, { quick, say }: BenchOptions): Promise<Row[]> {
  const size = quick ? 5_000 : 20_000;
  const backlog = { from: CHANGING, to: CHANGING + size / EVENTS_EACH, events: EVENTS_EACH };
  const receiver = await lab.start('receiver');
  const url = await receiver.ask<string>('url');
  const scene = await openScene(lab, { changing: CHANGING, others: size / EVENTS_EACH, subscribers: { shop: url } });
  await receiver.ask('answerAfter', ANSWERS_AFTER);
  await receiver.ask('note', true);
  await receiver.ask('refuse');
  await scene.begin(RATE);
  await delay(REFUSES_FOR);
  // As the ladder stands after an hour: five pauses of 1 to 16 min, and half of one of 32.
  await scene.health('shop', { failures: 9, pauses: 6, forMs: HOUR });
  await addBacklog(scene.database, { ...backlog, subscribers: ['shop'], sinceMs: HOUR });
  await receiver.ask('accept');
  const healed = machineTime();
  await scene.health('shop', { failures: 9, pauses: 6, forMs: HEALS_AFTER });
  const deadline = healed + DRAINED_WITHIN;
  while (machineTime() < deadline && (await scene.waiting('shop')) > RATE / 2) await delay(250);
  const commits = await scene.end();
  await delay(LAST_RECEIPT);
  const receipts = await channelsAlerted(receiver, '/events');
  const { rss } = await scene.daemon.usage();
  await scene.close();
  await receiver.stop();

  const { lost, repeats, overtaken } = tally([...expectedOf(backlog), ...commits], receipts);
  const drained = receipts.filter(({ index }) => index >= CHANGING);
  const first = receipts[0]?.at ?? Number.NaN;
  const peak = most(receipts);
  const reachedMost = receipts.find(({ inFlight }) => inFlight === peak)?.at ?? Number.NaN;
  const tookMs = (drained.at(-1)?.at ?? Number.NaN) - first;
  say(`outage: in flight when the 1st, 2nd, 4th, … arrived: ${doublings(receipts).join(' ')}`);
  return [
    {
      what: `draining ${size} after an hour away, ${ANSWERS_AFTER} ms each`,
      value: (drained.length / tookMs) * 1_000,
      unit: '/s',
    },
    { what: 'until the last of them, from the first try', value: tookMs, unit: 'ms' },
    {
      what: 'in flight while the first try was unanswered',
      value: most(receipts.filter(({ at }) => at < first + ANSWERS_AFTER)),
      unit: '',
      atMost: 1,
    },
    { what: 'in flight at most', value: peak, unit: '', atMost: IN_FLIGHT },
    {
      what: 'until so many were in flight, from the first try',
      value: reachedMost - first,
      unit: 'ms',
    },
    { what: 'lost after the outage', value: lost, unit: '', atMost: 0 },
    { what: 'repeated after the outage', value: repeats, unit: '', atMost: 0 },
    { what: 'out of order after the outage', value: overtaken, unit: '', atMost: 0 },
    { what: 'sent before the one before it was answered', value: tooEarly(receipts), unit: '', atMost: 0 },
    { what: 'memory of the daemon after draining (RSS)', value: rss / 1e6, unit: 'MB' },
  ];
}

function most(receipts: readonly Receipt[]): number {
  return receipts.reduce((highest, { inFlight }) => Math.max(highest, inFlight), 0);
}

/** Receipts that came while the receiver still had the event before of the same purchase. */
function tooEarly(receipts: readonly Receipt[]): number {
  const lastAt = new Map<number, number>();
  let count = 0;
  for (const { index, at } of receipts) {
    // Timers may be a fraction early.
    if (at - (lastAt.get(index) ?? Number.NEGATIVE_INFINITY) < ANSWERS_AFTER - 1) count += 1;
    lastAt.set(index, at);
  }
  return count;
}

/** How the number in flight grew. */
function doublings(receipts: readonly Receipt[]): number[] {
  return receipts.flatMap(({ inFlight }, index) => (Number.isInteger(Math.log2(index + 1)) ? [inFlight] : []));
}
