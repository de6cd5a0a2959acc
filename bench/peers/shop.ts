/** A merchant's tables for a peer: what the daemon records of a purchase, without what the daemon needs for itself. */
import type { Database } from '../lab.ts';
import type { Counts } from '../measure.ts';
import { CYCLE } from '../processes/messages.ts';

/** Creates the tables, with purchases that were polled once and are due. The one of number `from` is the first. */
export async function createShop({ sql }: Database, { from, count }: { from: number; count: number }): Promise<void> {
  await sql.unsafe(`
    create schema shop;
    create table shop.purchases (
      id uuid primary key, state integer not null, sequence integer not null default 1, polls integer not null default 0,
      seen_at timestamptz not null default now(), due_at timestamptz not null default now()
    ) with (fillfactor = 80);
    create index on shop.purchases (due_at);
    create table shop.transitions (
      purchase uuid not null, sequence integer not null, from_state integer, to_state integer not null,
      seen_at timestamptz not null default now(), primary key (purchase, sequence)
    );
    create table shop.events (
      position bigint generated always as identity primary key, id text not null unique, purchase uuid not null,
      created_at timestamptz not null default now(), body text not null
    );
    insert into shop.purchases (id, state)
      select ('00000000-0000-4000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, ${CYCLE[0]}
      from generate_series(${from}, ${from + count - 1}) as i;
    insert into shop.transitions (purchase, sequence, to_state) select id, 1, state from shop.purchases;
  `);
  await sql`vacuum (analyze) shop.purchases`;
}

export async function countsOfShop({ sql }: Database): Promise<Counts> {
  const [row] = await sql<[Counts]>`
    select (extract(epoch from statement_timestamp()) * 1000)::float8 as at,
      (select sum(polls)::float8 from shop.purchases) as polls,
      (select coalesce(max(position), 0)::float8 from shop.events) as events`;
  return row;
}
