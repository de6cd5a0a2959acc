/** Who writes for shards: only the replica that still holds them, under the epochs that it knows. */
import type { Holding } from '../../domain/replicas/ownership.ts';
import { columns } from '../connection/columns.ts';
import type { Fragment, Queries } from '../connection/database.ts';

/** The replica that writes, and the shards that it holds. */
export interface Writer {
  readonly replica: string;
  readonly holdings: readonly Holding[];
}

/** The part `held` of a statement: those of the writer's shards that it still holds, locked against a takeover until the transaction ends. */
export const held = (sql: Queries, { replica, holdings }: Writer): Fragment => sql`
  held as materialized (
    select s.id from purchase_watch_internal.shards s
    join ${columns(sql, holdings, 'h', 'shard smallint, epoch bigint')} on h.shard = s.id and h.epoch = s.epoch
    where s.owner = ${replica} order by s.id for share of s)`;
