/** The work of a daemon and its database, in counts, which depend less on how busy the machine is than times do. */
import type { Sql } from '../../src/postgres/connection/database.ts';
import type { Part } from '../lab.ts';
import type { Work } from '../processes/work.ts';
import type { Row } from '../report.ts';
import { countWal, recordsOf } from './wal.ts';

/** What was counted, by name; NaN for what this machine does not tell. */
type Counts = Readonly<Record<(typeof COUNTED)[number][0], number>>;

/** The names, with their units. */
export const COUNTED = [
  ['bytes allocated', 'B'],
  ['bytes that survived a scavenge', 'B'],
  ['bytes promoted to the old generation', 'B'],
  ['scavenges', ''],
  ['system calls that read or wrote', ''],
  ['turns of the event loop', ''],
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
  await daemon.ask('startWork');
  return async () => {
    const done = await daemon.ask<Work>('stopWork');
    const wal = await written();
    const records = (...kinds: readonly string[]): number => (wal === null ? Number.NaN : recordsOf(wal, ...kinds));
    return {
      'bytes allocated': done.allocated,
      'bytes that survived a scavenge': done.survived,
      'bytes promoted to the old generation': done.promoted,
      scavenges: done.scavenges,
      'system calls that read or wrote': done.readsAndWrites,
      'turns of the event loop': done.turns,
      'bytes of WAL': wal?.bytes ?? Number.NaN,
      'rows inserted': records('Heap/INSERT', 'Heap/INSERT+INIT'),
      'rows updated within their page': records('Heap/HOT_UPDATE', 'Heap/HOT_UPDATE+INIT'),
      'rows updated with new index entries': records('Heap/UPDATE', 'Heap/UPDATE+INIT'),
      'index entries written': records('Btree/INSERT_LEAF', 'Btree/INSERT_POST', 'Btree/SPLIT_L', 'Btree/SPLIT_R'),
      'commits that wrote': records('Transaction/COMMIT'),
    };
  };
}
