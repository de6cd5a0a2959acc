/** Which purchases rest because another session has locked their rows; that Postgres says so is tested in recorder.test.ts. */
import { expect, test, vi } from 'vitest';
import { createLockedLog, createLockedRows, type DecidedPoll } from '../../../src/daemon/poller/locked-rows.ts';
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { aPurchase } from '../../support/a-purchase.ts';
import { aLog } from '../notifier/parts.ts';

const poll = (id: number): DecidedPoll => ({ entry: { purchase: aPurchase({ id, purchaseId: `p-${id}` }) } }) as never;

/** A database in which these rows are locked. */
function rows(locked: number[]) {
  const asked: string[] = [];
  const sql = (_: readonly string[], ids: string) => {
    asked.push(ids);
    return Promise.resolve(locked.map((id) => ({ id })));
  };
  const all = createLockedRows(sql as unknown as Sql);
  return {
    ...{ ...all, asked, locked },
    divide: async (...ids: number[]) => {
      const { free, locked: left } = await all.divide(ids.map(poll));
      return {
        free: free.map(({ entry }) => entry.purchase.id),
        rests: left.map(({ entry, rest }) => [entry.purchase.id, rest]),
      };
    },
  };
}

test('rows are asked about once a statement with them has failed, and they alone', async () => {
  const { divide, suspect, asked, count } = rows([2]);
  expect([await divide(1, 2), asked]).toEqual([{ free: [1, 2], rests: [] }, []]);
  suspect([poll(2), poll(3)]);
  expect(count(), 'not asked about yet').toBe(0);
  expect([await divide(1), asked]).toEqual([{ free: [1], rests: [] }, []]);
  expect(await divide(1, 2, 3)).toEqual({ free: [1, 3], rests: [[2, 1_000]] });
  expect([asked, count()]).toEqual([['{2,3}'], 1]);
  // Row 3 is free, and no suspect any more.
  await divide(2, 3);
  expect(asked.at(-1)).toBe('{2}');
});

test('a purchase rests for as long as its row has been locked, from one second to fifteen, and no longer once the row is free', async () => {
  const { divide, suspect, locked, count } = rows([2]);
  suspect([poll(2)]);
  const rests: unknown[] = [];
  for (const now of [500, 900, 4_500, 60_000]) {
    vi.spyOn(performance, 'now').mockReturnValue(now);
    // It is a suspect all the time.
    suspect([poll(2)]);
    rests.push((await divide(2)).rests[0]![1]);
  }
  expect(rests).toEqual([1_000, 1_000, 4_000, 15_000]);
  vi.restoreAllMocks();
  locked.length = 0;
  expect([await divide(2), count()]).toEqual([{ free: [2], rests: [] }, 0]);
});

test('suspects that never come back are forgotten once they are many', async () => {
  const { divide, suspect, asked } = rows([]);
  suspect(Array.from({ length: 50_000 }, (_, id) => poll(id)));
  suspect([poll(60_000)]);
  await divide(7);
  expect(asked).toEqual(['{7}']);
  suspect([poll(60_001)]);
  suspect([poll(60_002)]);
  await divide(8);
  expect(asked).toHaveLength(1);
});

/** A log of locked rows, which are held by this session, or by one that cannot be found. */
function logging(holder: object | null | Error) {
  const { log, logged } = aLog();
  const answer = (): Promise<unknown[]> =>
    holder instanceof Error ? Promise.reject(holder) : Promise.resolve(holder === null ? [] : [holder]);
  const sql = Object.assign(([text]: readonly string[]) => (text!.startsWith('select * from') ? answer() : ''), {
    unsafe: () => '',
  });
  const say = createLockedLog(sql as unknown as Sql, log);
  return { logged, say: (...ids: number[]) => say(ids.map((id) => ({ entry: poll(id).entry, rest: 1_000 }))) };
}

test('a locked row is logged with the session that holds it and what to do, at once and then once a minute', async () => {
  const holder = { pid: 77, login: 'shop', application: 'psql', state: 'idle in transaction', since: 0, queriedAt: 0 };
  const { say, logged } = logging(holder);
  say(4, 5);
  say(6);
  await expect.poll(() => logged).toHaveLength(1);
  expect(logged).toMatchObject([
    {
      ...{ level: 'warn', event: 'poll.row_locked', polls: 1, site: 'default', purchaseId: 'p-4' },
      ...{ pid: 77, login: 'shop', application: 'psql', advice: expect.stringContaining('77') },
    },
  ]);
});

test.each([
  ['is gone by now', null],
  ['cannot be asked for', new Error('the connection broke')],
])('where the session %s, the log says how to find it', async (_, holder) => {
  const { say, logged } = logging(holder);
  say(4);
  await expect
    .poll(() => logged)
    .toMatchObject([{ event: 'poll.row_locked', advice: expect.stringContaining('pg_stat_activity') }]);
});
