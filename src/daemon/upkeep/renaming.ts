/** Moves purchases of former names of sites to their sites, little by little. */
import { endSession, MOST_UNPOLLED } from '../../domain/polling/unpolled.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import {
  type LeftPurchases,
  leftBehind,
  moveHistory,
  movePurchases,
  type Renamed,
  renamedSites,
  stopDoubles,
} from '../../postgres/polling/rename.ts';
import type { Logger } from '../../runtime/logger.ts';

/** More in one statement would hold locks for long. */
const AT_ONCE = 500;

/** How many purchases, and whether counting ended there. */
const counts = (count: number) => ({ purchases: count, ...(count >= MOST_UNPOLLED && { atLeast: true }) });

/** A function that moves some purchases; answers whether there are more. */
export function createRenaming(sql: Sql, log: Logger): () => Promise<boolean> {
  /** Purchases that were moved, and stopped, since the last line in the log, by former name. */
  const done = new Map<string, { moved: number; stopped: number }>();
  /** Former names at which purchases stayed, and the process of the session that was logged as in the way. */
  const locked = new Map<string, number | null>();

  /** Logs which session is in the way, once for each. */
  const sayLeft = ({ from, to }: Renamed, { count, holder }: LeftPurchases): void => {
    const { pid = null, login = null, application = null } = holder ?? {};
    if (count === 0) return void locked.delete(from);
    if (locked.get(from) === pid) return;
    locked.set(from, pid);
    const detail = `These purchases are not polled until they have moved to ${to}; another session of the database has locked their rows.`;
    log.warn({ from, to, ...counts(count), pid, login, application, detail, advice: endSession(pid) }, 'site.move_locked');
  };

  const move = async (renamed: Renamed): Promise<boolean> => {
    const { from, to } = renamed;
    const before = done.get(from) ?? { moved: 0, stopped: 0 };
    const moved = await movePurchases(sql, renamed, AT_ONCE);
    // Only then: whatever still has the former name has its id under both names.
    const stopped = moved > 0 ? 0 : await stopDoubles(sql, renamed, AT_ONCE);
    done.set(from, { moved: before.moved + moved, stopped: before.stopped + stopped });
    if (moved + stopped > 0) return true;
    await moveHistory(sql, renamed);
    const left = await leftBehind(sql, renamed);
    if (before.moved > 0) log.info({ from, to, purchases: before.moved, left: left.count }, 'site.moved');
    sayLeft(renamed, left);
    if (before.stopped > 0) {
      const detail = `These ids are registered at ${to} as well and go on there; their rows at ${from} were stopped and keep their history.`;
      log.warn({ from, to, purchases: before.stopped, detail }, 'site.doubles_stopped');
    }
    done.delete(from);
    return false;
  };

  return async () => {
    const more = [];
    for (const renamed of await renamedSites(sql)) more.push(await move(renamed));
    return more.includes(true);
  };
}
