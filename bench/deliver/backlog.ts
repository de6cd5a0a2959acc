/** Deliveries that wait already when the daemon sees them: as if they had come while a receiver took nothing. */
import type { Database } from '../lab.ts';

export interface Backlog {
  readonly subscribers: readonly string[];
  /** Purchases by number, from the first to before the last. */
  readonly from: number;
  readonly to: number;
  /** Of each purchase; the first was made when it was seeded. */
  readonly events: number;
  /** The oldest is so old, the youngest is made now. */
  readonly sinceMs: number;
}

/** Writes them, for each of the subscribers. No loop is woken. */
export async function addBacklog({ sql }: Database, { subscribers, from, to, events, sinceMs }: Backlog): Promise<void> {
  const last = events + 1;
  await sql.begin(async (tx) => {
    await tx`
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
      select id, 'purchase.state_changed', site, row_id, sequence, sequence - 1, shard, 6, at,
        json_build_object('id', id, 'type', 'purchase.state_changed', 'timestamp', at, 'data', json_build_object('site', site,
          'purchaseId', purchase_id, 'sequence', sequence, 'from', json_build_object('value', 4, 'name', 'WaitingForIdentityProvider'),
          'to', json_build_object('value', 6, 'name', 'WaitingForCardPayments'), 'notBefore', at, 'notAfter', at, 'final', false,
          'reference', 'ORD-004711', 'metadata', json_build_object('cart', 7), 'price', 249.5, 'currency', 'SEK',
          'orderReference', 'ORD-004711'))::text
      from (
        select 'evt_backlog_' || p.id || '_' || s.sequence as id, p.site, p.id as row_id, p.purchase_id, p.shard, s.sequence,
          now() - ${sinceMs} * (1 - row_number() over (order by s.sequence, p.id)::float8 / count(*) over ()) * interval '1 millisecond' as at
        from generate_series(${from}::integer, ${to - 1}::integer) as number
        join purchase_watch.purchases p on p.site = 'default' and p.purchase_id = '00000000-0000-4000-8000-' || lpad(to_hex(number), 12, '0')
        cross join generate_series(2, ${last}::integer) as s (sequence)) e
      order by sequence, row_id`;
    await tx`
      insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
      select e.position, e.purchase, s.id, e.shard, e.created_at
      from purchase_watch_internal.events e cross join purchase_watch_internal.subscribers s
      where e.id like 'evt\\_backlog\\_%' and s.name = any(${[...subscribers]}::text[])
      order by s.id, e.position`;
  });
  await sql`vacuum (analyze) purchase_watch_internal.events`;
  await sql`vacuum (analyze) purchase_watch_internal.deliveries`;
  await sql`checkpoint`.catch(() => undefined);
}

/** The events of a backlog, as a receiver should get them. */
export function expectedOf({ from, to, events }: Pick<Backlog, 'from' | 'to' | 'events'>): { index: number; sequence: number }[] {
  return Array.from({ length: to - from }, (_, i) =>
    Array.from({ length: events }, (_, k) => ({ index: from + i, sequence: k + 2 })),
  ).flat();
}
