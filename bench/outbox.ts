/** An outbox that is filled at once, and drained by a daemon. */
import type { Sql } from '../src/postgres/connection/database.ts';
import type { Part } from './lab.ts';
import { until } from './measure.ts';

export const EVENT_ID = 'evt_01JD3K7Q6V2N8Y4T5R9W0XABCD';
export const EVENT_BODY =
  '{"id":"evt_01JD3K7Q6V2N8Y4T5R9W0XABCD","type":"purchase.state_changed","timestamp":"2026-11-20T09:15:02.123Z","data":{"site":"default","purchaseId":"00000000-0000-4000-8000-000000000000","sequence":3,"from":{"value":6,"name":"WaitingForCardPayments"},"to":{"value":2,"name":"Completed"},"notBefore":"2026-11-20T09:14:57.001Z","notAfter":"2026-11-20T09:15:02.123Z","final":true,"reference":"ORD-004711","metadata":{"cart":7},"price":249.50,"currency":"SEK","orderReference":"ORD-004711"}}';

/** Deliveries that are due, of which the daemon knows nothing yet. */
export interface Outbox {
  readonly deliveries: number;
  /** Wakes the daemon, and waits until everything is received and settled. Rejects after two minutes. */
  drain(): Promise<void>;
}

/** Inserts one more event for every `each`-th purchase, with its deliveries, all of them due at the commit. The outbox must be empty. */
export async function fillOutbox(
  sql: Sql,
  receiver: Part,
  { sequence, each = 1 }: { sequence: number; each?: number },
): Promise<Outbox> {
  const received = await receiver.ask<number>('received');
  const { count } = await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
      select 'evt_' || ${sequence}::integer || '_' || id, 'purchase.state_changed', site, id, ${sequence}, ${sequence - 1}, shard, 6, now(), ${EVENT_BODY}
      from generate_series(${each}::bigint, (select max(id) from purchase_watch.purchases), ${each}::bigint) as number
      join purchase_watch.purchases on id = number
      returning position, purchase, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select e.position, e.purchase, s.id, e.shard, now() from event e, purchase_watch_internal.subscribers s where s.configured`;
  return {
    deliveries: count,
    drain: async () => {
      await sql`select pg_notify('purchase_watch_wake', 'deliveries')`;
      // The database is asked only at the end: looking for what is pending costs as much as sending.
      await until('all are received', async () => (await receiver.ask<number>('received')) >= received + count, 120_000, 5);
      await until('the outbox is empty', () => isOutboxEmpty(sql), 120_000, 5);
    },
  };
}

async function isOutboxEmpty(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select from purchase_watch_internal.deliveries where status = 'pending'
      and subscriber in (select id from purchase_watch_internal.subscribers where configured) limit 1`;
  return rows.length === 0;
}
