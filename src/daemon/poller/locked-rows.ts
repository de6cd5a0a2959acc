/**
 * Purchases whose rows another session may have locked. A statement waits for the first such row and then fails, and nothing
 * of its batch is recorded; so the rows of a batch that failed are asked for first, and those that are locked are left out. To
 * ask before every statement would cost a third more of Postgres' time (docs/decisions/0019-late-statements.md).
 */

import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { endText, holderAmong, type LockHolder } from '../../postgres/connection/lock-holder.ts';
import { lockedOf, rowOf } from '../../postgres/polling/locked-rows.ts';
import type { Decided } from '../../postgres/polling/record.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createRareWarning } from '../../runtime/rare-warning.ts';
import { monotonic } from '../../runtime/time.ts';
import type { Entry } from './window/entries.ts';

/** A poll with what follows from its answer. */
export interface DecidedPoll {
  readonly entry: Entry;
  readonly decided: Decided;
  /** Whether the entry stays in the window once it is written. */
  readonly stays: boolean;
}

/** A poll that cannot be recorded at present, and how long its purchase rests. */
export interface LockedPoll {
  readonly entry: Entry;
  readonly rest: Milliseconds;
}

/** A purchase rests for as long as its row has been locked, within these. */
const FIRST_REST: Milliseconds = 1_000;
const LONGEST_REST: Milliseconds = 15_000;
/** Suspects that never come back were lost with their shards; then all are forgotten, which costs one failed statement at most. */
const MOST_SUSPECTS = 50_000;

/** No suspects. */
export function createLockedRows(sql: Sql) {
  /** Row ids, and since when they are known to be locked; null: not asked yet. */
  const suspects = new Map<number, Milliseconds | null>();
  return {
    /** The rows of these polls may be locked. */
    suspect: (polls: readonly DecidedPoll[]): void => {
      if (suspects.size > MOST_SUSPECTS) suspects.clear();
      for (const id of idsOf(polls)) if (!suspects.has(id)) suspects.set(id, null);
    },
    /** Divides polls by whether their rows are locked; asks the database about suspects only. */
    divide: async (polls: readonly DecidedPoll[]) => {
      const asked = suspects.size === 0 ? [] : idsOf(polls).filter((id) => suspects.has(id));
      if (asked.length === 0) return { free: polls, locked: [] };
      const held = await lockedOf(sql, asked);
      const now = monotonic();
      for (const id of asked) {
        if (held.has(id)) suspects.set(id, suspects.get(id) ?? now);
        else suspects.delete(id);
      }
      const free = polls.filter(({ entry }) => !suspects.has(entry.purchase.id));
      const locked = polls.flatMap(({ entry }): LockedPoll[] => {
        const since = suspects.get(entry.purchase.id);
        return since == null ? [] : [{ entry, rest: Math.min(Math.max(now - since, FIRST_REST), LONGEST_REST) }];
      });
      return { free, locked };
    },
    /** How many rows were locked when they were last asked for. */
    count: (): number => [...suspects.values()].filter((since) => since !== null).length,
  };
}

const idsOf = (polls: readonly DecidedPoll[]): number[] => polls.map(({ entry }) => entry.purchase.id);

/** Answers what logs that rows are locked, and by which session: at once, then once a minute. */
export function createLockedLog(sql: Sql, log: Logger): (locked: readonly LockedPoll[]) => void {
  let [first]: readonly LockedPoll[] = [];
  const warn = createRareWarning((polls) => {
    const { id, site, purchaseId } = first!.entry.purchase;
    const write = (holder: LockHolder | null): void => {
      const { pid, login, application } = holder ?? {};
      log.warn({ polls, site, purchaseId, pid, login, application, advice: adviceOn(holder) }, 'poll.row_locked');
    };
    void holderAmong(sql, rowOf(sql, id)).then(write, () => write(null));
  });
  return (locked) => {
    [first] = locked;
    for (const _ of locked) warn();
  };
}

function adviceOn(holder: LockHolder | null): string {
  const end = holder === null ? 'find the session in pg_stat_activity by its age (xact_start)' : endText(holder);
  return `another session has locked the row, and the purchase is polled again until the row is free: ${end}`;
}
