/** Moves purchases of former names of sites to their sites, little by little. */
import type { Sql } from '../../postgres/connection/database.ts';
import { moveHistory, movePurchases, type Renamed, renamedSites, stopDoubles } from '../../postgres/polling/rename.ts';
import type { Logger } from '../../runtime/logger.ts';

/** More in one statement would hold locks for long. */
const AT_ONCE = 500;

/** A function that moves some purchases; answers whether there are more. */
export function createRenaming(sql: Sql, log: Logger): () => Promise<boolean> {
  /** Purchases that were moved, and stopped, since the last line in the log, by former name. */
  const done = new Map<string, { moved: number; stopped: number }>();

  const move = async (renamed: Renamed): Promise<boolean> => {
    const { from, to } = renamed;
    const counts = done.get(from) ?? { moved: 0, stopped: 0 };
    const moved = await movePurchases(sql, renamed, AT_ONCE);
    // Only then: whatever still has the former name has its id under both names.
    const stopped = moved > 0 ? 0 : await stopDoubles(sql, renamed, AT_ONCE);
    done.set(from, { moved: counts.moved + moved, stopped: counts.stopped + stopped });
    if (moved + stopped > 0) return true;
    await moveHistory(sql, renamed);
    if (counts.moved > 0) log.info({ from, to, purchases: counts.moved }, 'site.moved');
    if (counts.stopped > 0) {
      const detail = `These ids are registered at ${to} as well and go on there; their rows at ${from} were stopped and keep their history.`;
      log.warn({ from, to, purchases: counts.stopped, detail }, 'site.doubles_stopped');
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
