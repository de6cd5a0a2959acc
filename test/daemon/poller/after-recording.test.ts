import { expect, test } from 'vitest';
import { type AfterRecordingOptions, createAfterRecording } from '../../../src/daemon/poller/after-recording.ts';
import type { DecidedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import type { Entry } from '../../../src/daemon/poller/window/entries.ts';
import { createWindow } from '../../../src/daemon/poller/window/window.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import type { PollOutcome } from '../../../src/domain/deciding/outcome.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import { NO_DELIVERIES } from '../../../src/postgres/deliveries/new-deliveries.ts';
import { dueSlot, LAST_SLOT } from '../../../src/postgres/polling/queue.ts';
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
function recording({ capacity = 100 } = {}) {
  const epochs = new Map<number, number>(POLLED.map((shard) => [shard, EPOCH]));
  const leaving = new Set<number>();
  const reread: number[] = [];
  const left: number[] = [];
  const sent: number[] = [];
  const ended: string[] = [];
  const lostShards: number[] = [];
  const woken: string[] = [];
  const completes: boolean[] = [];
  /** Kinds of writes that fail, and why. */
  const failing = new Map<string, string>();
  const moment = { now: 0 };
  const changes: ((change: { lost: readonly number[] }) => void)[] = [];
  const window = createWindow({ capacity, epochOf: (shard) => epochs.get(shard) ?? null, now: () => NOW });
  window.gain(POLLED);
  // Nothing was registered in bulk.
  window.bulk.moved(
    window.bulk.behind(LAST_SLOT),
    POLLED.map((shard) => ({ shard, slot: LAST_SLOT, id: Number.MAX_SAFE_INTEGER })),
  );
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
  const { log, logged } = aLog();
  const meters = createMeters();
  const after = createAfterRecording({
    ...{ clock: { monotonic: () => moment.now }, log, meters },
    // Nobody holds a lock here.
    sql: Object.assign(() => Promise.resolve([]), { unsafe: () => '' }),
    writes: {
      failed: (kind: string, error: Error) => void failing.set(kind, error.message),
      done: (kind: string) => void failing.delete(kind),
      forget: () => failing.clear(),
    },
    ownership: {
      onBack: () => undefined,
      onChange: (listener: (typeof changes)[number]) => void changes.push(listener),
      end: (shard: number, epoch: number) => void ended.push(`${shard}/${epoch}`),
      lost: (shard: number) => void lostShards.push(shard),
      epochOf: (shard: number) => epochs.get(shard) ?? null,
      owned: () => [...epochs.keys()].filter((shard) => !leaving.has(shard)),
    },
    loader: {
      readAgain: (id: number, rest: number) => reread.push(...(rest === 0 ? [id] : [id, rest])),
      left: (id: number) => left.push(id),
    },
    windows: new Map([['default', window]]),
    onEvents: ({ rows, isComplete }: typeof NO_DELIVERIES) => {
      sent.push(...rows.map(({ id }) => id));
      completes.push(isComplete);
      woken.push('notifier');
    },
    ...{ onSymptom: () => woken.push('judge'), wakeLoader: () => woken.push('loader'), wakeCalls: () => woken.push('calls') },
  } as unknown as AfterRecordingOptions);
  /** The database wrote all of these polls. */
  const written = (some: readonly DecidedPoll[] = polls): void =>
    after.onRecorded(some, { ids: new Set(some.map(idOf)), lostShards: [], events: some.length, deliveries: NO_DELIVERIES });
  return {
    ...{ after, polls, window, reread, left, sent, ended, lostShards, woken, completes, failing, moment, epochs, leaving },
    ...{ logged, meters, written },
    /** Shards change hands. */
    handsChange: (lost: readonly number[]) => changes.forEach((listener) => void listener({ lost })),
  };
}
/** The same poll with another outcome. */
const turnedOut = (poll: DecidedPoll, differs: Partial<PollOutcome>): DecidedPoll => ({
  ...poll,
  decided: { ...poll.decided, outcome: { ...poll.decided.outcome, ...differs } },
});
const unchanged = (poll: DecidedPoll): DecidedPoll => turnedOut(poll, { kind: 'unchanged', events: [], transition: null });
const idOf = ({ entry }: DecidedPoll): number => entry.purchase.id;

test('what could not be recorded, or may have been, leaves memory, and its row decides when it is polled again', () => {
  const { after, polls, window, reread } = recording();
  after.onFailed(polls, new Error('the connection broke'), false);
  expect([window.nextDue(), reread.toSorted()]).toEqual([null, POLLED]);
  expect(POLLED.filter(window.knows)).toEqual([]);
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
  // The cursor does not come to it a second time.
  expect(window.hasPassed(POLLED[0], slot, POLLED[0])).toBe(true);
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

test('deliveries that this replica does not send itself are left to a read of the outbox', () => {
  const { after, polls, completes, epochs } = recording();
  const rows = POLLED.map((id) => aDelivery(id, { shard: id }));
  const recorded = { ids: new Set(POLLED), lostShards: [], events: POLLED.length };
  after.onRecorded(polls, { ...recorded, deliveries: { rows, isComplete: true } });
  after.onRecorded(polls, { ...recorded, deliveries: { rows: [], isComplete: false } });
  after.onRecorded(polls, { ...recorded, deliveries: NO_DELIVERIES });
  epochs.delete(POLLED[0]);
  after.onRecorded(polls, { ...recorded, deliveries: { rows, isComplete: true } });
  // Memory holds none of these any more.
  expect(completes).toEqual([true, false, true, false]);
});

test('a recorded change is counted, logged and told to the notifier, and its shard may be given away', () => {
  const { after, polls, ended, woken, meters, logged, left } = recording();
  const [one, refused] = polls as [DecidedPoll, DecidedPoll];
  after.onRecorded([one, refused], {
    ids: new Set([idOf(one)]),
    lostShards: [idOf(refused)],
    events: 1,
    deliveries: NO_DELIVERIES,
  });
  expect(ended).toEqual([one, refused].map((poll) => `${idOf(poll)}/${EPOCH}`));
  expect([meters.site('default').changes, [...meters.events()]]).toEqual([1, [['purchase.state_changed', 1]]]);
  expect(logged.map(({ event }) => event)).toEqual(['purchase.state_changed', 'poll.failed']);
  expect([woken, left]).toEqual([
    ['notifier', 'calls'],
    [idOf(one), idOf(refused)],
  ]);
});

test('a poll without a change wakes the calls alone, and counts as none', () => {
  const { polls, written, woken, meters } = recording();
  written(polls.map(unchanged));
  expect([woken, meters.site('default').changes]).toEqual([['calls'], 0]);
});

test.each(['purchase.stuck', 'purchase.recovered', 'purchase.expired', 'purchase.unreadable', 'purchase.readable'])(
  'the judge looks soon after %s',
  (type) => {
    const { polls, written, woken } = recording();
    const [draft] = polls[0]!.decided.outcome.events;
    written([turnedOut(polls[0]!, { events: [draft!, { ...draft!, type } as typeof draft & {}] })]);
    expect(woken).toEqual(['notifier', 'judge', 'calls']);
  },
);

test('a shard that another replica took is given up, and its purchases are not read again', () => {
  const all = recording();
  const { after, polls, lostShards, woken, reread } = all;
  passed(all);
  const lost = polls.slice(0, 2).map(idOf);
  after.onRecorded(polls.slice(0, 2), { ids: new Set(), lostShards: lost, events: 0, deliveries: NO_DELIVERIES });
  expect([lostShards, woken, reread]).toEqual([lost, ['calls'], []]);
});

/** The cursor of a purchase's shard stands where the purchase is due next. */
function passed({ window, polls }: ReturnType<typeof recording>): DecidedPoll {
  const [poll] = polls as [DecidedPoll];
  const id = idOf(poll);
  const slot = poll.decided.slot!;
  const behind = window.behind(slot).filter(({ shard }) => shard === id);
  window.moved(
    behind,
    behind.map(({ shard }) => ({ shard, slot, id })),
  );
  return poll;
}

test('a purchase that stays in memory is due again at its next poll, and its row is not read', () => {
  const all = recording();
  const { written, window, reread, left, woken } = all;
  const poll = passed(all);
  const { nextPollAt, purchase } = poll.decided.outcome;
  written([{ ...poll, stays: true }]);
  expect([window.nextDue(), reread, left, woken.includes('loader')]).toEqual([nextPollAt, [], [], false]);
  expect(window.take(nextPollAt!)).toMatchObject({ purchase, slot: poll.decided.slot });
});

test('a purchase that is polled no more leaves memory, and its row is not read', () => {
  const all = recording();
  const { written, window, reread, left } = all;
  const poll = passed(all);
  const final = turnedOut(poll, { nextPollAt: null });
  written([{ ...final, stays: true, decided: { ...final.decided, slot: null } }]);
  expect([window.nextDue(), reread, left]).toEqual([null, [], [idOf(poll)]]);
});

test('the loader is woken for a row that is to be read by its id', () => {
  const { after, polls, woken, reread } = recording();
  after.onRecorded(polls, { ids: new Set(POLLED.slice(1)), lostShards: [], events: 5, deliveries: NO_DELIVERIES });
  expect([reread, woken]).toEqual([[POLLED[0]], ['notifier', 'loader', 'calls']]);
});

test('where others come first for want of room, the cursor goes back to a purchase that it passed, and no row is read by its id', () => {
  const all = recording();
  const poll = passed(all);
  all.window.setPressure(true);
  all.written([poll]);
  const { slot } = poll.decided;
  expect([all.reread, all.window.hasPassed(idOf(poll), slot!, idOf(poll))]).toEqual([[], false]);
  expect(all.window.hasPassed(idOf(poll), slot!, idOf(poll) - 1)).toBe(true);
});

test('where polls have made room for what is due, the loader is woken', () => {
  const { polls, written, window, woken } = recording();
  window.setPressure(true);
  written(polls.map(unchanged));
  expect(woken).toEqual(['loader', 'calls']);
});

test('changes that fail are in trouble until a change is recorded, and polls without one until such a poll is', () => {
  const { after, polls, written, failing } = recording();
  const quiet = polls.map(unchanged);
  after.onFailed(polls, new Error('the connection broke'), false);
  after.onFailed(quiet, new Error('the connection broke'), false);
  expect([...failing.keys()]).toEqual(['changes', 'polls']);
  written([quiet[0]!]);
  expect([...failing.keys()]).toEqual(['changes']);
  after.onRecorded(polls, { ids: new Set(), lostShards: [], events: 0, deliveries: NO_DELIVERIES });
  expect([...failing.keys()], 'nothing was written').toEqual(['changes']);
  written([polls[1]!]);
  expect([...failing.keys()]).toEqual([]);
});

test('failures of a replica that lost shards are forgotten with them: the writes are another replica’s now', () => {
  const { after, polls, failing, handsChange } = recording();
  after.onFailed(polls, new Error('the connection broke'), false);
  handsChange([]);
  expect([...failing.keys()]).toEqual(['changes']);
  handsChange([POLLED[0]]);
  expect([...failing.keys()]).toEqual([]);
});

test('after a failed write all rows are read at once, nothing is polled for a moment, and people can read why', () => {
  const { after, polls, ended, woken, reread, logged } = recording();
  after.onFailed(polls, new Error('the connection broke'), false);
  expect([reread.toSorted(), ended, woken, after.pause()]).toEqual([
    POLLED,
    polls.map((poll) => `${idOf(poll)}/${EPOCH}`),
    ['loader', 'calls'],
    1_000,
  ]);
  expect(logged).toMatchObject([{ level: 'error', event: 'poll.not_recorded', polls: POLLED.length }]);
});

test('a poll of which nothing can be recorded makes its purchase rest for a minute, and holds up nothing else', () => {
  const { after, polls, woken, reread, failing, logged } = recording();
  after.onFailed(polls.slice(0, 1), new Error('refused'), true);
  expect([reread, after.pause(), woken, [...failing.keys()], logged]).toEqual([[idOf(polls[0]!), 60_000], 0, ['calls'], [], []]);
});

test('batches that fail together are one failure, and a recorded poll makes the next pause a short one', () => {
  const { after, polls, written, moment } = recording();
  const pauseAfter = (error: unknown): number => {
    after.onFailed([], error, false);
    return after.pause();
  };
  const broken = new Error('the connection broke');
  expect([pauseAfter(broken), pauseAfter(broken)]).toEqual([1_000, 1_000]);
  moment.now += 999;
  expect(after.pause()).toBe(1);
  moment.now += 1;
  expect([after.pause(), pauseAfter(broken)]).toEqual([0, 2_000]);
  moment.now += 2_000;
  // Longer pauses do not help with a lock that another session holds.
  const locked = Object.assign(new Error('lock timeout'), { code: '55P03' });
  expect(pauseAfter(locked)).toBe(1_000);
  moment.now += 1_000;
  expect(pauseAfter(broken)).toBe(2_000);
  written(polls.slice(0, 1));
  expect(pauseAfter(broken)).toBe(1_000);
});

test('a row that was repaired is read at once', () => {
  const { after, polls, reread, woken, window } = recording();
  after.onRepaired(polls.slice(0, 1));
  expect([reread, woken, window.nextDue()]).toEqual([[idOf(polls[0]!)], ['loader', 'calls'], null]);
});

test('a purchase whose row another session has locked rests; several are a trouble of this replica until a poll is recorded', () => {
  const { after, polls, written, reread, woken, failing, meters } = recording();
  const lockedOf = (count: number) => polls.slice(0, count).map(({ entry }) => ({ entry, rest: 3_000 }));
  after.onLocked(lockedOf(1), 1);
  expect([reread, woken, [...failing.keys()], meters.site('default').locked]).toEqual([
    [idOf(polls[0]!), 3_000],
    ['calls'],
    [],
    1,
  ]);
  after.onLocked(lockedOf(1), 2);
  expect([...failing]).toEqual([['locked rows', 'other sessions have locked the rows of 2 purchases (55P03)']]);
  written(polls.slice(2, 3).map(unchanged));
  expect([...failing.keys()]).toEqual([]);
});

test('a locked row is logged, and by whom it may be locked', async () => {
  const { after, polls, logged } = recording();
  after.onLocked([{ entry: polls[0]!.entry, rest: 3_000 }], 1);
  await expect.poll(() => logged).toMatchObject([{ event: 'poll.row_locked', purchaseId: `p-${idOf(polls[0]!)}` }]);
});

test('changes of three purchases that the database refuses are its own trouble, until it takes a change', () => {
  const { after, polls, written, failing, logged } = recording();
  const refuse = (...places: readonly number[]): void => {
    for (const place of places) after.onRefused(polls[place]!, Object.assign(new Error('a constraint'), { code: '23514' }));
  };
  refuse(0, 1, 1, 0);
  expect([...failing.keys()]).toEqual([]);
  expect(logged[0]).toMatchObject({ level: 'error', event: 'poll.unrecordable', site: 'default', purchaseId: 'p-1' });
  // Neither a poll without a change nor the record of a refusal says that changes can be recorded.
  written([unchanged(polls[3]!)]);
  written([turnedOut(polls[4]!, { reason: 'unrecordable' })]);
  refuse(2);
  expect([...failing.keys()]).toEqual(['refused changes']);
  written([polls[3]!, unchanged(polls[4]!)]);
  expect([...failing.keys()]).toEqual([]);
  refuse(0, 1);
  expect([...failing.keys()], 'a new count began').toEqual([]);
});
