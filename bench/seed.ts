/** Fills a database with purchases as a daemon would have left them, far quicker than by polling each once. */
import type { Sql } from '../src/postgres/connection/database.ts';
import { CYCLE } from './processes/messages.ts';

interface Seed {
  readonly count: number;
  /** The first one's number. */
  readonly from?: number;
  /** One in so many is due now, the others in a month; 0: none. */
  readonly dueEach: number;
  /** Those that are due are spread evenly over this time from now on; all are due at once, when left out. Milliseconds. */
  readonly dueWithin?: number;
}

/** What the daemon keeps of the stand-in's answer, in its words. */
export const DETAILS =
  '{"Price":249.50,"CurrencyCode":"SEK","OrderReference":"ORD-004711","SiteCode":"BENCH-SE","CountryCode":"SWE","PaymentMethod":2}';

/** Inserts purchases that were polled once: in the cycle's first state, with their transition, event and details. */
export async function seed(sql: Sql, { count, from = 0, dueEach, dueWithin = 0 }: Seed): Promise<void> {
  const state = CYCLE[0];
  await sql.begin(async (tx) => {
    await tx`set local synchronous_commit = off`;
    await tx`
      insert into purchase_watch.purchases (purchase_id, site, state, state_since, seen_at, last_polled_at, polls, sequence, next_poll_at)
      select '00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'), 'default', ${state}, now(), now(), now(), 0, 1,
        case when ${dueEach} > 0 and i % ${Math.max(dueEach, 1)} = 0 then now() + i * ${dueWithin / count}::float8 * interval '1 millisecond' else now() + interval '30 days' end
      from generate_series(${from}::integer, ${from + count - 1}::integer) as i`;
    await tx`
      insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after)
      select id, 1, ${state}, now() from purchase_watch.purchases`;
    await tx`
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, state, created_at, body)
      select 'evt_seed_' || id, 'purchase.state_changed', site, id, 1, shard, ${state}, now(), '{}' from purchase_watch.purchases`;
    await tx`
      insert into purchase_watch_internal.purchase_details (purchase, fields) select id, ${DETAILS}::text::json from purchase_watch.purchases`;
  });
  for (const table of [
    'purchase_watch.purchases',
    'purchase_watch_internal.purchase_transitions',
    'purchase_watch_internal.events',
    'purchase_watch_internal.purchase_details',
  ]) {
    await sql`vacuum (analyze) ${sql(table)}`;
  }
  await sql`checkpoint`.catch(() => undefined);
}

/** A subscriber whose deliveries are written, and which no process here sends. Only after the daemon's start, which would drop it. */
export async function addSilentSubscriber(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.subscribers (name, kind, address_hash) values ('elsewhere', 'webhook', 'bench')
    on conflict (name) where deleted_at is null do update set configured = true`;
}
