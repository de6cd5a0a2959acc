/**
 * The advisory lock that starts hold one after the other while they migrate. Every login of the database may take the lock, so
 * a start tries the lock again and again and names its holder: a login that keeps the lock makes the start fail after a while,
 * and never wait in silence. Each try is a transaction of its own: an index that the holder builds beside writers waits for the
 * end of each transaction that had a snapshot just then.
 */

import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';
import type { Queries } from '../connection/database.ts';
import { firstRow } from '../connection/rows.ts';

/** The number means nothing; it must never change. */
const LOCK = 7_236_019_444;
export const TRY_AGAIN: Milliseconds = 200;

/** How long a login that may migrate may keep the lock from a start, since it may be building an index over a large table; and any other login, which has no reason to hold it. */
const PATIENCE = { own: 3_600_000, others: 60_000 } as const;

interface Holder {
  readonly pid: number;
  readonly login: string;
  readonly application: string;
  /** Whether the holder's login may act as the role that migrates. */
  readonly isOwn: boolean;
}

/**
 * A function that takes the lock for the rest of a transaction, and answers whether it has; otherwise `onStep` is called with a
 * sentence that names the holder. It throws AppError `conflict` with the holder's process and login once it has tried for a
 * minute, or for an hour when the holder is a login that may migrate.
 */
export function createMigrationLock(
  onStep: (step: string) => void,
  { own = PATIENCE.own, others = PATIENCE.others }: { own?: Milliseconds; others?: Milliseconds } = {},
): (tx: Queries) => Promise<boolean> {
  let began: Milliseconds | null = null;
  let named: string | null = null;
  return async (tx) => {
    const since: Milliseconds = began ?? monotonic();
    const [row] = await tx<[{ taken: boolean }]>`select pg_try_advisory_xact_lock(${LOCK}) as taken`;
    const holder = row.taken ? null : await findHolder(tx);
    began = row.taken ? null : since;
    if (holder === null) return row.taken;
    const words = `session ${holder.pid} of login "${holder.login}" (${holder.application || 'without a name'})`;
    if (words !== named) onStep(`waiting for ${words}, which holds the lock of migrations: another start may be migrating it`);
    named = words;
    const limit = holder.isOwn ? own : others;
    if (monotonic() - since > limit) throw keptBy(words, holder.pid, limit);
    return false;
  };
}

/** The session that holds the lock; null when the lock was released meanwhile. */
const findHolder = (tx: Queries) =>
  firstRow(tx<Holder[]>`
    select l.pid, coalesce(a.usename, 'unknown') as login, coalesce(a.application_name, '') as application,
      coalesce(pg_has_role(a.usesysid, current_user, 'usage'), false) as is_own
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = ${LOCK}::int8 >> 32 and l.objid = ${LOCK}::int8 & 4294967295 and l.objsubid = 1`);

function keptBy(words: string, pid: number, limit: Milliseconds): AppError {
  return new AppError(
    'conflict',
    `${words} has held the advisory lock ${LOCK} for ${limit / 1_000} s, without which the schema is not migrated: ` +
      `wait until that start is done, or end the session with "select pg_terminate_backend(${pid})", and start again`,
  );
}
