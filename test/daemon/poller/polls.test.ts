import { expect, test } from 'vitest';
import type { DecidedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import { createPolls } from '../../../src/daemon/poller/polls.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation, Purchase } from '../../../src/domain/purchases/purchase.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { answer, aPurchase, trouble } from '../../support/a-purchase.ts';
import { aLog, NOW } from '../notifier/parts.ts';

/** Polls a purchase once; answers what is to be recorded, and what happened to the purchase in memory instead. */
async function poll(purchase: Purchase, seen: Observation) {
  const recorded: DecidedPoll[] = [];
  const settled: unknown[] = [];
  const ended: number[] = [];
  const ignore = (): void => undefined;
  const entry = { purchase, dueAt: NOW, slot: 7, epoch: 3, digest: null, strikes: 0, gone: false };
  const calls = {
    ...{ begin: ignore, end: ignore, answered: ignore, fails: () => false, excuses: () => false },
    site: { pollStatus: async () => seen, invoices: false },
  };
  const window = {
    place: () => ({ slot: 9, stays: true }),
    settle: (_: unknown, next: unknown) => settled.push(next),
  };
  const { poll: pollOnce } = createPolls({
    ...{ clock: { now: () => NOW, monotonic: () => 0 }, log: aLog().log, meters: createMeters(), traces: null },
    ...{ windows: new Map([['default', window]]), recorder: { add: (each: DecidedPoll) => recorded.push(each) } },
    ...{ policyFor: () => DEFAULT_POLL_POLICY, skipped: () => [], spread: () => 0, wake: ignore },
    ownership: { begin: ignore, end: (shard: number) => ended.push(shard) },
  } as unknown as Parameters<typeof createPolls>[0]);
  await pollOnce(calls as never, entry as never, false);
  return { recorded, settled, ended };
}
const seenBefore = { state: 1, sequence: 1, stateSince: NOW - 60_000 } as const;

test('a purchase that another daemon saw by a clock that is ahead by a little changes no earlier than it was seen', async () => {
  const { recorded } = await poll(aPurchase({ ...seenBefore, seenAt: NOW + 40 }), answer(4));
  const { now, outcome } = recorded[0]!.decided;
  expect([now, outcome.purchase.stateSince, outcome.transition?.notAfter]).toEqual([NOW + 40, NOW + 40, NOW + 40]);
});

test('the time of a purchase that is ahead by hours is that of a clock that was set back, and counts for nothing', async () => {
  const { recorded } = await poll(aPurchase({ ...seenBefore, seenAt: NOW + 3_600_000 }), answer(4));
  expect(recorded[0]!.decided.outcome.purchase).toMatchObject({ seenAt: NOW, stateSince: NOW });
});

test('trouble of the site is not recorded: the purchase is polled again soon, and its shard may be given away', async () => {
  const purchase = aPurchase(seenBefore);
  const { recorded, settled, ended } = await poll(purchase, trouble('unreachable'));
  expect([recorded, settled, ended]).toEqual([[], [{ purchase, dueAt: NOW + 1_000, slot: 7 }], [purchase.shard]]);
});
