/**
 * Notices that the database is not the one any more that memory is of: it went back, or another server answers. Then all that
 * memory holds of the database goes.
 */

import { hostname } from 'node:os';
import { ulid } from 'ulid';
import { type ChangeKind, COMPARE, changeText } from '../../domain/incidents/database-loss.ts';
import { compareDatabase } from '../../domain/replicas/database-change.ts';
import { type Instant, isoTimeOrNull } from '../../domain/values/time.ts';
import { noteDatabaseChange } from '../../postgres/shards/database-changes.ts';
import type { Renewal } from '../../postgres/shards/replicas.ts';
import type { Meters } from '../../runtime/meters.ts';
import type { Deps } from '../deps.ts';

export interface DatabaseChangeOptions extends Pick<Deps, 'sql' | 'log' | 'replica'> {
  readonly meters?: Pick<Meters, 'databaseChanged'>;
  /** Dials every session again: one may still lead to the server of before. */
  redial?(): Promise<void>;
}

/** The steps of a part when another database answers than before, or the database's clock was set back. */
export interface OtherDatabase {
  /** Drops whatever memory holds of the database, at once. */
  forget(): void;
  /** Brings the database in line with the settings, as a start does; nothing is loaded before. Asked again with the next tick while it fails. */
  prepare(): Promise<void>;
}

/** A change that is not noted yet. */
interface Found {
  readonly kind: ChangeKind;
  readonly isOther: boolean;
  isNoted: boolean;
  readonly after: string;
  readonly noticedAt: Instant;
  readonly knownUntil: Instant | null;
}

/** The database that memory is of. */
interface Known {
  readonly number: number;
  readonly origin: string | null;
  readonly change: string | null;
  /** When the database last confirmed a renewal, by its own clock. */
  readonly at: Instant;
}

/** Knows no database until the first renewal. */
export function createDatabaseChange({ sql, log, replica, meters, redial }: DatabaseChangeOptions) {
  const parts: OtherDatabase[] = [];
  let known: Known | null = null;
  let found: Found | null = null;

  const report = async ({ isOther, isNoted: _isNoted, ...change }: Found): Promise<void> => {
    const host = `${hostname()} (process ${process.pid})`;
    const noted = await noteDatabaseChange(sql, { ...change, id: `dbc_${ulid()}`, replica, host });
    if (change.kind === 'first') return;
    const about = { change: noted.id, detail: `${changeText(noted)}.` };
    const dropped = isOther ? { dropped: 'everything that this replica held in memory' } : {};
    if (noted.kind === 'went_back') log.error({ ...about, ...dropped, advice: COMPARE }, 'database.went_back');
    else log.warn({ ...about, ...dropped }, 'database.moved');
  };

  const forget = (): void => {
    for (const part of parts) part.forget();
  };

  const drop = (isLost: boolean): void => {
    meters?.databaseChanged(isLost ? 'went_back' : 'moved');
    log.warn({ confirmedUntil: isoTimeOrNull(known?.at ?? null) }, 'database.changed');
    known = null;
    forget();
  };

  const prepare = async (): Promise<void> => {
    for (const part of parts) await part.prepare();
  };

  return {
    onOther: (part: OtherDatabase): void => void parts.push(part),
    /** The clock was set back: drops what memory holds of the database, as when another one answers. */
    forget,
    /** The number of the last renewal that was confirmed to this replica; 0 while memory holds nothing of the database. */
    confirmed: (): number => known?.number ?? 0,
    /** Compares a renewal with memory. Answers whether memory may be kept; `settle` is to follow otherwise. */
    holds: (renewal: Read): boolean => {
      const { isOther, note } = compareDatabase(known, renewal);
      if (note === null) known = knownBy(renewal);
      else found = foundBy(renewal, known, { kind: note, isOther });
      if (isOther) drop(note === 'went_back');
      return note === null;
    },
    /** Takes a renewal that failed, and rejects as it did. A backup of an older version lacks tables: the schema is brought up to date, and the next renewal compares. */
    failed: async (error: unknown): Promise<never> => {
      if (isOlderSchema(error)) await prepare();
      throw error;
    },
    /** Whether something was found that is not noted yet. */
    mustSettle: (): boolean => found !== null,
    /** Notes what was found, once over all replicas. Rejects when the database does; what was found then stays to be noted. */
    settle: async (): Promise<void> => {
      if (found === null) return;
      if (!found.isNoted) {
        if (found.isOther) await redial?.();
        await report(found);
        found.isNoted = true;
      }
      if (found.isOther) await prepare();
      found = null;
    },
  };
}

/** A table, a column or a function is missing. */
function isOlderSchema(error: unknown): boolean {
  return ['42P01', '42703', '42883'].includes((error as { code?: string } | null)?.code ?? '');
}

type Read = Pick<Renewal, 'number' | 'origin' | 'change' | 'databaseNow'>;

function knownBy({ number, origin, change, databaseNow }: Read): Known {
  return { number: number!, origin, change: change?.id ?? null, at: databaseNow };
}

function foundBy({ change, databaseNow }: Read, known: Known | null, what: Pick<Found, 'kind' | 'isOther'>): Found {
  const after = (known === null ? change?.id : known.change) ?? '';
  return { ...what, isNoted: false, after, noticedAt: databaseNow, knownUntil: known?.at ?? null };
}
