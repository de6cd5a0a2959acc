import { expect, test } from 'vitest';
import { type AfterRecordingOptions, createAfterRecording } from '../../../src/daemon/poller/after-recording.ts';
import type { DecidedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import type { Entry } from '../../../src/daemon/poller/window/entries.ts';
import { createWindow } from '../../../src/daemon/poller/window/window.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { NO_DELIVERIES } from '../../../src/postgres/deliveries/new-deliveries.ts';
import { dueSlot } from '../../../src/postgres/polling/queue.ts';
import { createMeters } from '../../../src/runtime/meters.ts';
import { answer, aPurchase } from '../../support/a-purchase.ts';
import { aDelivery, aLog, NOW } from '../notifier/parts.ts';

test('pauses after failed writes grow, and the first confirmed renewal ends the present one', () => {
  let elapsed = 0;
  const backs: (() => void)[] = [];
  const woken: string[] = [];
  const ownership = { onChange: () => undefined, onBack: (listener: () => void) => backs.push(listener) };
  const { onFailed, pause } = createAfterRecording({
    clock: { monotonic: () => elapsed },
    log: { error: () => undefined },
    writes: { failed: () => undefined },
    ownership,
    wakeLoader: () => woken.push('loader'),
    wakeCalls: () => woken.push('calls'),
  } as unknown as AfterRecordingOptions);
  const fail = (): number => {
    onFailed([], new Error('the connection broke'), false);
    return pause();
  };
  const pauses = [0, 0, 0, 0].map(() => {
    const next = fail();
    elapsed += next;
    return next;
  });
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(fail()).toBe(15_000);
  woken.length = 0;
  for (const back of backs) back();
  expect(pause()).toBe(0);
  expect(woken).toEqual(['loader', 'calls']);
  expect(fail(), 'writes that fail although renewals are confirmed are not repeated at full speed').toBe(15_000);
});

const EPOCH = 3;
/** The ids of the purchases whose first polls are being recorded, each in the shard of its own number. */
const POLLED = [1, 2, 3, 4, 5, 6] as const;

/** First polls that are being recorded of purchases in memory, and what follows once that has ended. */
function recording() {
  const epochs = new Map<number, number>(POLLED.map((shard) => [shard, EPOCH]));
  const leaving = new Set<number>();
  const reread: number[] = [];
  const sent: number[] = [];
  const window = createWindow({ capacity: 100, epochOf: (shard) => epochs.get(shard) ?? null, now: () => NOW });
  window.gain(POLLED);
  for (const id of POLLED) {
    const purchase = aPurchase({ id, shard: id, purchaseId: `p-${id}` });
    window.put({ purchase, nextPollAt: NOW, slot: dueSlot(NOW), reason: 'first', isBulk: false });
  }
  const polls = POLLED.map((): DecidedPoll => {
    const entry: Entry = window.take(NOW)!;
    const context = { askedAt: NOW, now: NOW, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 };
    const outcome = decide(entry.purchase, answer(1), context);
    return { entry, stays: false, decided: { outcome, askedAt: NOW, now: NOW, slot: entry.slot + 9 } };
  });
  const ignore = (): void => undefined;
  const after = createAfterRecording({
    ...{ clock: { monotonic: () => 0 }, log: aLog().log, meters: createMeters(), writes: { failed: ignore, done: ignore } },
    ownership: {
      ...{ onChange: ignore, onBack: ignore, end: ignore, lost: ignore },
      epochOf: (shard: number) => epochs.get(shard) ?? null,
      owned: () => [...epochs.keys()].filter((shard) => !leaving.has(shard)),
    },
    loader: { readAgain: (id: number) => reread.push(id), left: ignore },
    windows: new Map([['default', window]]),
    onEvents: ({ rows }: typeof NO_DELIVERIES) => sent.push(...rows.map(({ id }) => id)),
    ...{ onSymptom: ignore, wakeLoader: ignore, wakeCalls: ignore },
  } as unknown as AfterRecordingOptions);
  return { after, polls, window, reread, sent, epochs, leaving };
}
const idOf = ({ entry }: DecidedPoll): number => entry.purchase.id;

test('what could not be recorded, or may have been, leaves memory, and its row decides when it is polled again', () => {
  const { after, polls, window, reread } = recording();
  after.onFailed(polls, new Error('the connection broke'), false);
  expect([window.nextDue(), reread.toSorted()]).toEqual([null, POLLED]);
});

test('a purchase whose next place in the queue was passed while it was recorded is read by its id, and no other', () => {
  const { after, polls, window, reread } = recording();
  const slot = dueSlot(NOW) + 9;
  const behind = window.behind(slot).filter(({ shard }) => shard === POLLED[0]);
  window.moved(
    behind,
    behind.map(({ shard }) => ({ shard, slot, id: POLLED[0] })),
  );
  after.onRecorded(polls, { ids: new Set(POLLED), lostShards: [], events: POLLED.length, deliveries: NO_DELIVERIES });
  expect([window.nextDue(), reread]).toEqual([null, [POLLED[0]]]);
});

test('the row of a refused poll is read again, unless its purchase is no longer this daemon’s', () => {
  const { after, polls, window, reread } = recording();
  const [written, lost, gone, ...stale] = polls.map(idOf);
  polls.find((poll) => idOf(poll) === gone)!.entry.gone = true;
  after.onRecorded(polls, { ids: new Set([written!]), lostShards: [lost!], events: 1, deliveries: NO_DELIVERIES });
  expect([window.nextDue(), reread.toSorted()]).toEqual([null, stale.toSorted()]);
});

test('new events are sent that are of shards held since their polls began, and not about to be given away', () => {
  const { after, polls, sent, epochs, leaving } = recording();
  const rows = POLLED.map((id) => aDelivery(id, { shard: id }));
  const [lost, back, given, gone, ...own] = POLLED;
  epochs.delete(lost);
  epochs.set(back, EPOCH + 2);
  leaving.add(given);
  polls.find((poll) => idOf(poll) === gone)!.entry.gone = true;
  const deliveries = { rows, isComplete: true };
  after.onRecorded(polls, { ids: new Set(POLLED), lostShards: [], events: POLLED.length, deliveries });
  expect(sent).toEqual(own);
});
