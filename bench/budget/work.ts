/** The work of a daemon and its database, in counts that do not depend on how busy the machine is. */
import type { Sql } from '../../src/postgres/connection/database.ts';
import type { Part } from '../lab.ts';
import type { Work } from '../processes/work.ts';
import type { Row } from '../report.ts';
import { countWal, recordsOf } from './wal.ts';

/** What was counted, by name; NaN for what this machine or an older commit's daemon does not tell. */
export type Counts = Readonly<Record<(typeof COUNTED)[number][0], number>>;

/** The names, with their units. */
export const COUNTED = [
  ['bytes allocated', 'B'],
  ['bytes that survived a scavenge', 'B'],
  ['bytes promoted to the old generation', 'B'],
  ['scavenges', ''],
  ['system calls that read or wrote', ''],
  ['bytes of WAL', 'B'],
  ['rows inserted', ''],
  ['rows updated within their page', ''],
  ['rows updated with new index entries', ''],
  ['index entries written', ''],
  ['commits that wrote', ''],
] as const satisfies readonly (readonly [string, Row['unit']])[];

/** Begins to count; the function that it returns answers what was done since. */
export async function countWorkOf(sql: Sql, daemon: Part): Promise<() => Promise<Counts>> {
  const written = await countWal(sql);
  const isCounting = await daemon.ask('startWork').then(
    () => true,
    () => false,
  );
  return async () => {
    const done = isCounting ? await daemon.ask<Work>('stopWork') : null;
    const wal = await written();
    const records = (...kinds: readonly string[]): number => (wal === null ? Number.NaN : recordsOf(wal, ...kinds));
    return {
      'bytes allocated': done?.allocated ?? Number.NaN,
      'bytes that survived a scavenge': done?.survived ?? Number.NaN,
      'bytes promoted to the old generation': done?.promoted ?? Number.NaN,
      scavenges: done?.scavenges ?? Number.NaN,
      'system calls that read or wrote': done?.readsAndWrites ?? Number.NaN,
      'bytes of WAL': wal?.bytes ?? Number.NaN,
      'rows inserted': records('Heap/INSERT', 'Heap/INSERT+INIT'),
      'rows updated within their page': records('Heap/HOT_UPDATE', 'Heap/HOT_UPDATE+INIT'),
      'rows updated with new index entries': records('Heap/UPDATE', 'Heap/UPDATE+INIT'),
      'index entries written': records('Btree/INSERT_LEAF', 'Btree/INSERT_POST', 'Btree/SPLIT_L', 'Btree/SPLIT_R'),
      'commits that wrote': records('Transaction/COMMIT'),
    };
  };
}
