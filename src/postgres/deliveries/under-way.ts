/** Attempts that have been under way for a moment, written so that people see them. The notifier goes by its memory and never reads these rows. */
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

export interface UnderWay {
  readonly delivery: number;
  readonly shard: number;
  readonly epoch: number;
  readonly since: Instant;
}

/** Writes that attempts are under way; replaces rows that an earlier owner of the shard left. */
export async function noteUnderWay(sql: Queries, replica: string, attempts: readonly UnderWay[]): Promise<void> {
  if (attempts.length === 0) return;
  await sql`
    insert into purchase_watch_internal.under_way (delivery, shard, epoch, since, replica)
    select delivery, shard, epoch, since, ${replica}
    from ${columns(sql, attempts, 'r', 'delivery bigint, shard smallint, epoch bigint, since timestamptz')}
    -- A statement that runs late, after the delivery was settled, must write nothing.
    where exists (select from purchase_watch_internal.deliveries d where d.id = r.delivery and d.settled_at is null)
    on conflict (delivery) do update set shard = excluded.shard, epoch = excluded.epoch, since = excluded.since, replica = excluded.replica`;
}

/** Deletes the rows of attempts that ended, and those of replicas that are gone. */
export async function endUnderWay(sql: Queries, deliveries: readonly number[]): Promise<void> {
  await sql`
    delete from purchase_watch_internal.under_way u where u.delivery = any(${`{${deliveries.join()}}`}::bigint[])
      or not exists (select from purchase_watch_internal.shards s where s.id = u.shard and s.owner = u.replica and s.epoch = u.epoch)`;
}
