import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DecidedPoll, LockedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import { createRecorder, type Recorder } from '../../../src/daemon/poller/recorder.ts';
import type { Entry } from '../../../src/daemon/poller/window/entries.ts';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Observation } from '../../../src/domain/purchases/purchase.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { LAST_SLOT, loadDue } from '../../../src/postgres/polling/queue.ts';
import type { Recorded } from '../../../src/postgres/polling/record.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { answer, trouble } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const EPOCH = 3;
let database: TestDatabase;
let recorder: Recorder;
let recorded: { batch: readonly DecidedPoll[]; result: Recorded }[];
let locked: LockedPoll[];
let refused: DecidedPoll[];
let failed: { batch: readonly DecidedPoll[]; error: unknown; poison: boolean }[];

beforeEach(async () => {
  database = await testDatabase();
  const { sql } = database;
  await syncSites(sql, ['default']);
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = ${EPOCH}`;
  recorded = [];
  locked = [];
  refused = [];
  failed = [];
  recorder = recorderOn(sql);
});
afterEach(() => database.drop());

const recorderOn = (sql: Sql): Recorder =>
  createRecorder({
    sql,
    replica: 'me',
    onRecorded: (batch, result) => recorded.push({ batch, result }),
    repair: async () => false,
    insteadOf: (poll) => [poll],
    onRefused: (poll) => refused.push(poll),
    onRepaired: () => undefined,
    onLocked: (polls) => locked.push(...polls),
    onFailed: (batch, error, poison) => failed.push({ batch, error, poison }),
  });

/** Registers purchases and takes them into memory, as their owner would. */
async function watched(count: number): Promise<Entry[]> {
  await database.sql`
    insert into purchase_watch.purchases (purchase_id) select 'p-' || i from generate_series(1, ${count}) i`;
  const cursors = Array.from({ length: 64 }, (_, shard) => ({ shard, slot: -1, id: 0 }));
  const read = { site: 'default', cursors, through: LAST_SLOT, limit: 1_000 };
  const [due] = await loadDue(database.sql, [read]);
  return due!.rows
    .sort((a, b) => a.purchase.id - b.purchase.id)
    .map(({ purchase, nextPollAt, slot }) => ({
      purchase,
      dueAt: nextPollAt!,
      slot: slot!,
      epoch: EPOCH,
      busy: true,
      rank: 2 as const,
      isBulk: false,
      strikes: 0,
      digest: null,
      gone: false,
      newer: null,
    }));
}

function polled(entry: Entry, seen: Observation): DecidedPoll {
  const now = Date.now() + 1_000;
  const outcome = decide(entry.purchase, seen, { askedAt: now, now, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 });
  return { entry, stays: true, decided: { outcome, askedAt: now, now, slot: entry.slot } };
}
const rows = () => database.sql<{ id: number; state: number | null; polls: number; failures: number }[]>`
  select id::integer, state, polls::integer, failures from purchase_watch.purchases order by id`;

test('changes that come together are written together', async () => {
  for (const entry of await watched(3)) recorder.add(polled(entry, answer(6)));
  expect(recorder.pending()).toBe(3);
  await recorder.drain();
  expect(recorder.pending()).toBe(0);
  expect(recorded).toHaveLength(1);
  expect(recorded[0]!.result).toMatchObject({ lostShards: [], events: 3 });
  expect((await rows()).map(({ state, polls }) => [state, polls])).toEqual([
    [6, 1],
    [6, 1],
    [6, 1],
  ]);
});

test('what changed nothing is written too, apart from the changes', async () => {
  const [changed, failing] = (await watched(2)) as [Entry, Entry];
  recorder.add(polled(changed, answer(6)));
  recorder.add(polled(failing, trouble('malformed')));
  await recorder.drain();
  expect(await rows()).toMatchObject([
    { state: 6, failures: 0, polls: 1 },
    { state: null, failures: 1, polls: 1 },
  ]);
  expect(recorded.map(({ batch }) => batch.length)).toEqual([1, 1]);
});

test('at leisure what changed nothing waits a quarter of a second for others', async () => {
  const [failing] = (await watched(1)) as [Entry];
  const added = performance.now();
  recorder.add(polled(failing, trouble('malformed')));
  await expect.poll(() => recorded.length, { interval: 5 }).toBe(1);
  expect(performance.now() - added).toBeGreaterThanOrEqual(240);
});

test('first sights of a bulk load do not delay a change, and keep nothing of a purchase waiting that follows them', async () => {
  const entries = await watched(1_200);
  const known = entries[0]!;
  recorder.add(polled(known, answer(0)));
  await recorder.drain();
  Object.assign(known.purchase, recorded[0]!.batch[0]!.decided.outcome.purchase);
  recorded.length = 0;
  const blocker = await database.sql.reserve();
  // The first batch of first sights waits for this row.
  await blocker`begin`;
  await blocker`select from purchase_watch.purchases where id = ${entries[1]!.purchase.id} for update`;
  for (const entry of entries.slice(1)) recorder.add(polled(entry, answer(6)));
  recorder.add(polled(known, answer(1)));
  await expect.poll(() => recorded.map(({ batch }) => batch.map(({ entry }) => entry))).toEqual([[known]]);
  await blocker`commit`;
  blocker.release();
  await recorder.drain();
  expect(recorded.flatMap(({ batch }) => batch)).toHaveLength(1_200);
  expect((await rows()).slice(0, 2).map(({ state, polls }) => [state, polls])).toEqual([
    [1, 2],
    [6, 1],
  ]);
});

test('a change does not wait for company', async () => {
  const [entry] = (await watched(1)) as [Entry];
  const written = new Promise<void>((resolve) => {
    const rest = {
      repair: async () => false,
      insteadOf: () => [],
      onRepaired: () => {},
      onLocked: () => {},
      onRefused: () => {},
      onFailed: () => {},
    };
    recorder = createRecorder({ sql: database.sql, replica: 'me', onRecorded: () => resolve(), ...rest });
  });
  recorder.add(polled(entry, answer(6)));
  await written;
});

test('what is not ours any more is answered for, and not written', async () => {
  const [lost, ours] = (await watched(2)) as [Entry, Entry];
  lost.gone = true;
  recorder.add(polled(lost, answer(6)));
  recorder.add(polled(ours, answer(6)));
  await recorder.drain();
  expect(recorded.flatMap(({ batch }) => batch)).toHaveLength(2);
  expect(recorded[0]!.result.ids).toEqual(new Set([ours.purchase.id]));
  expect((await rows()).map(({ state }) => state)).toEqual([null, 6]);
});

test('a batch of nothing but lost work does not touch the database', async () => {
  const [entry] = (await watched(1)) as [Entry];
  entry.gone = true;
  recorder.add(polled(entry, answer(6)));
  await database.sql`alter table purchase_watch_internal.shards rename to away`;
  await recorder.drain();
  expect(failed).toEqual([]);
  expect(recorded[0]!.result.ids.size).toBe(0);
});

test('a shard under another epoch refuses the result and is named', async () => {
  const [entry] = (await watched(1)) as [Entry];
  await database.sql`update purchase_watch_internal.shards set epoch = epoch + 1`;
  recorder.add(polled(entry, answer(6)));
  await recorder.drain();
  expect(recorded[0]!.result).toMatchObject({ ids: new Set(), lostShards: [entry.purchase.shard] });
  expect((await rows())[0]).toMatchObject({ state: null, polls: 0 });
});

test('one row that cannot be written is found, and the others of its batch are written', async () => {
  const entries = await watched(9);
  const poison = entries[6]!;
  await database.sql.unsafe(
    `alter table purchase_watch_internal.events add constraint poison check (purchase <> ${poison.purchase.id})`,
  );
  for (const entry of entries) recorder.add(polled(entry, answer(6)));
  await recorder.drain();
  expect(failed.map(({ batch, poison: isPoison }) => [batch.map(({ entry }) => entry.purchase.id), isPoison])).toEqual([
    [[poison.purchase.id], true],
  ]);
  expect(refused.map(({ entry }) => entry)).toEqual([poison]);
  expect((await rows()).filter(({ state }) => state === 6)).toHaveLength(8);
  expect(recorded.flatMap(({ batch }) => batch)).toHaveLength(8);
});

test("a batch that fails for the database's own reasons is given back whole", async () => {
  const entries = await watched(4);
  await database.sql`alter table purchase_watch_internal.purchase_transitions rename to away`;
  for (const entry of entries) recorder.add(polled(entry, answer(6)));
  await recorder.drain();
  expect(failed).toHaveLength(1);
  expect(failed[0]).toMatchObject({ poison: false, error: { code: '42P01' } });
  expect(failed[0]!.batch).toHaveLength(4);
  expect((await rows()).every(({ state, polls }) => state === null && polls === 0)).toBe(true);
});

test.each([
  { kind: 'changes', first: answer(2), second: answer(6), row: { state: 6, failures: 0 }, events: 1 },
  { kind: 'polls without a change', first: trouble('unknown'), second: trouble('malformed'), row: { failures: 1 }, events: 0 },
])('two purchases with one row id, the first of a database that went back, are recorded apart: $kind', async (given) => {
  const [entry] = (await watched(1)) as [Entry];
  const lost = { ...entry, purchase: { ...entry.purchase, purchaseId: 'lost' } };
  recorder.add(polled(lost, given.first));
  recorder.add(polled(entry, given.second));
  await recorder.drain();
  const written = recorded.flatMap(({ batch, result }) =>
    batch.map((poll) => [poll.entry.purchase.purchaseId, result.ids.has(poll.entry.purchase.id)]),
  );
  expect(written).toEqual([
    ['lost', false],
    ['p-1', true],
  ]);
  expect(await rows()).toMatchObject([{ ...given.row, polls: 1 }]);
  expect(recorded.map(({ result }) => result.events)).toEqual([0, given.events]);
});

test.each([
  { kind: 'changes', seen: answer(6) },
  { kind: 'polls without a change', seen: trouble('malformed') },
])('a row that another session has locked keeps its own poll from being recorded, and no other: $kind', async ({ seen }) => {
  const entries = await watched(20);
  const [held, ...others] = entries as [Entry, ...Entry[]];
  const hasty = connect(database.url, { max: 2, sessionLimits: { lock_timeout: 100 } });
  recorder = recorderOn(hasty);
  const blocker = await database.sql.reserve();
  await blocker`begin`;
  await blocker`select from purchase_watch.purchases where id = ${held.purchase.id} for update`;
  for (const entry of entries) recorder.add(polled(entry, seen));
  await recorder.drain();
  expect(locked.map(({ entry }) => entry)).toEqual([held]);
  expect(failed).toEqual([]);
  expect(recorded.flatMap(({ result }) => [...result.ids]).sort((a, b) => a - b)).toEqual(
    others.map(({ purchase }) => purchase.id),
  );
  // Known to be locked: left out at once, and its rest grows with the time of the lock.
  recorded.length = 0;
  recorder.add(polled(held, seen));
  await recorder.drain();
  expect(locked).toHaveLength(2);
  await blocker`commit`;
  blocker.release();
  recorder.add(polled(held, seen));
  await recorder.drain();
  expect(recorded.flatMap(({ result }) => [...result.ids])).toEqual([held.purchase.id]);
  await hasty.end();
});

test('a table that another session has locked is a failure of the whole batch', async () => {
  const entries = await watched(3);
  const hasty = connect(database.url, { max: 2, sessionLimits: { lock_timeout: 100 } });
  recorder = recorderOn(hasty);
  const blocker = await database.sql.reserve();
  await blocker`begin`;
  await blocker`lock table purchase_watch_internal.purchase_transitions in share mode`;
  for (const entry of entries) recorder.add(polled(entry, answer(6)));
  await recorder.drain();
  expect(locked).toEqual([]);
  expect(failed.map(({ batch, poison }) => [batch.length, poison])).toEqual([[3, false]]);
  await blocker`rollback`;
  blocker.release();
  await hasty.end();
});
