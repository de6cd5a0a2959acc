/** Purchases as people and programs register, read and stop them. What the poller does with them is in queue.ts and record.ts. */
import type { Instant, PurchaseStatus } from '../core/purchase.ts';
import type { Queries } from './database.ts';

export interface Registration {
  readonly purchaseId: string;
  /** Null: the site named `default`, or the only one. */
  readonly site: string | null;
  readonly reference: string | null;
  /** JSON text of an object. */
  readonly metadata: string | null;
}

/** A purchase as it is shown. Times are epoch milliseconds. */
export interface PurchaseRow {
  readonly id: number;
  readonly purchaseId: string;
  readonly site: string;
  readonly status: PurchaseStatus;
  readonly state: number | null;
  readonly stateSince: Instant | null;
  readonly stuckSince: Instant | null;
  readonly reference: string | null;
  /** JSON text. */
  readonly metadata: string | null;
  readonly registeredAt: Instant;
  readonly lastPolledAt: Instant | null;
  readonly nextPollAt: Instant | null;
  readonly polls: number;
  readonly failures: number;
  readonly lastError: string | null;
  /** JSON text of the stored fields. */
  readonly details: string | null;
}

export interface TransitionRow {
  readonly sequence: number;
  readonly from: number | null;
  readonly to: number;
  readonly notBefore: Instant | null;
  readonly notAfter: Instant;
}

const COLUMNS = `
  p.id::float8 as id, p.purchase_id as "purchaseId", p.site, p.status, p.state,
  (extract(epoch from p.state_since) * 1000)::float8 as "stateSince", (extract(epoch from p.stuck_since) * 1000)::float8 as "stuckSince",
  p.reference, p.metadata::text as metadata, (extract(epoch from p.registered_at) * 1000)::float8 as "registeredAt",
  (extract(epoch from p.last_polled_at) * 1000)::float8 as "lastPolledAt", (extract(epoch from p.next_poll_at) * 1000)::float8 as "nextPollAt",
  p.polls::float8 as polls, p.failures, p.last_error as "lastError", d.fields::text as details`;

/**
 * Registers purchases in one statement. Answers, for each registration in order, whether it is new. The caller has
 * checked ids and sites; a stopped or expired purchase that is registered again is watched again.
 */
export async function register(
  sql: Queries,
  wanted: readonly Registration[],
  { by }: { by: 'api' | 'cli' } = { by: 'api' },
): Promise<('created' | 'existing')[]> {
  if (wanted.length === 0) return [];
  const registrations = await withSites(sql, wanted);
  const created = await sql<{ site: string; purchaseId: string }[]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, metadata, registered_by)
    select purchase_id, site, reference, metadata::jsonb, ${by}
    from unnest(${registrations.map((r) => r.purchaseId)}::text[], ${registrations.map((r) => r.site)}::text[],
      ${registrations.map((r) => r.reference)}::text[], ${registrations.map((r) => r.metadata)}::text[])
      with ordinality as r (purchase_id, site, reference, metadata, place)
    -- One order for everybody: two lists with the same ids never wait for each other. Of one id, the first counts.
    order by site, purchase_id collate "C", place
    on conflict do nothing
    returning site, purchase_id as "purchaseId"`;
  const isNew = new Set(created.map((row) => `${row.site}/${row.purchaseId}`));
  const existing: Registration[] = [];
  const answers = registrations.map((r): 'created' | 'existing' => {
    const fresh = isNew.delete(`${r.site}/${r.purchaseId}`);
    if (!fresh) existing.push(r);
    return fresh ? 'created' : 'existing';
  });
  if (existing.length > 0) {
    await sql`select purchase_watch.watch_again(${existing.map((r) => r.purchaseId)}::text[], ${existing.map((r) => r.site)}::text[])`;
  }
  return answers;
}

/** Fills in the site of those that name none. Where there is no such site it stays null, and the database says what to do. */
async function withSites(sql: Queries, registrations: readonly Registration[]): Promise<readonly Registration[]> {
  if (registrations.every((r) => r.site !== null)) return registrations;
  const [row] = await sql<{ site: string | null }[]>`select purchase_watch.default_site() as site`;
  return registrations.map((r) => (r.site === null ? { ...r, site: row?.site ?? null } : r));
}

/** One purchase; with no site named, the one that has this id, or several when sites share it. */
export async function findPurchases(
  sql: Queries,
  { purchaseId, site }: { purchaseId: string; site: string | null },
): Promise<PurchaseRow[]> {
  return sql<PurchaseRow[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch.purchases p left join purchase_watch.purchase_details d on d.purchase = p.id
    where p.purchase_id = ${purchaseId} and ${site === null ? sql`p.site in (select name from purchase_watch.sites)` : sql`p.site = ${site}`}
    order by p.site`;
}

/** A purchase's transitions, first to last. */
export async function transitionsOf(sql: Queries, id: number): Promise<TransitionRow[]> {
  return sql<TransitionRow[]>`
    select sequence, from_state as "from", to_state as "to",
      (extract(epoch from not_before) * 1000)::float8 as "notBefore", (extract(epoch from not_after) * 1000)::float8 as "notAfter"
    from purchase_watch.purchase_transitions where purchase = ${id} order by sequence`;
}

export interface PurchaseFilter {
  readonly site?: string | undefined;
  readonly status?: string | undefined;
  readonly state?: number | undefined;
  readonly stuck?: boolean | undefined;
  readonly reference?: string | undefined;
}

/** A page of purchases, newest registration first. `before` is the last row's id of the page before. */
export async function listPurchases(
  sql: Queries,
  { filter, before, limit }: { filter: PurchaseFilter; before: number | null; limit: number },
): Promise<PurchaseRow[]> {
  const { site, status, state, stuck, reference } = filter;
  return sql<PurchaseRow[]>`
    select ${sql.unsafe(COLUMNS)} from purchase_watch.purchases p left join purchase_watch.purchase_details d on d.purchase = p.id
    where ${before === null ? sql`true` : sql`p.id < ${before}`}
      and ${site === undefined ? sql`true` : sql`p.site = ${site}`}
      and ${status === undefined ? sql`true` : sql`p.status = ${status}`}
      and ${state === undefined ? sql`true` : sql`p.state = ${state}`}
      and ${stuck === undefined ? sql`true` : stuck ? sql`p.stuck_since is not null` : sql`p.stuck_since is null`}
      and ${reference === undefined ? sql`true` : sql`p.reference = ${reference}`}
    order by p.id desc limit ${limit}`;
}

/** Stops polling a purchase; what is known of it stays. A poll that is under way is not recorded. */
export async function stopPurchase(sql: Queries, id: number): Promise<void> {
  await sql`
    with stopped as (
      update purchase_watch.purchases set status = 'stopped', stuck_since = null, next_poll_at = null, due_slot = null,
        ended_at = now(), revision = revision + 1
      where id = ${id} and status <> 'stopped' returning id, shard),
    nudged as (insert into purchase_watch.nudges (purchase, shard) select id, shard from stopped)
    select pg_notify('purchase_watch_wake', 'judge'), pg_notify('purchase_watch_wake', 'purchases') from stopped`;
}

/**
 * Makes a purchase due now, whatever its plan; the owner polls it and goes on with its plan. Answers how many polls it
 * had. One that is due already stays as it is, so that asking in quick succession cannot shut out every answer.
 */
export async function requestPoll(sql: Queries, id: number): Promise<number> {
  const [row] = await sql<{ polls: number }[]>`
    with asked as (
      update purchase_watch.purchases set next_poll_at = now(), due_slot = purchase_watch.due_slot(now()), revision = revision + 1
      where id = ${id} and (next_poll_at is null or next_poll_at > now()) returning id, shard),
    nudged as (insert into purchase_watch.nudges (purchase, shard) select id, shard from asked),
    told as (select pg_notify('purchase_watch_wake', 'purchases') from asked)
    select p.polls::float8 as polls, (select count(*) from told) from purchase_watch.purchases p where p.id = ${id}`;
  return row?.polls ?? 0;
}

/** How many polls of a purchase were recorded so far. */
export async function countPolls(sql: Queries, id: number): Promise<number> {
  const [row] = await sql<{ polls: number }[]>`select polls::float8 as polls from purchase_watch.purchases where id = ${id}`;
  return row?.polls ?? 0;
}

/** Purchases by site, status and state, for people. */
export async function countPurchases(
  sql: Queries,
): Promise<
  { site: string; status: PurchaseStatus; state: number | null; count: number; stuck: number; oldest: Instant | null }[]
> {
  return sql`
    select site, status, state, count(*)::float8 as count, count(stuck_since)::float8 as stuck,
      (extract(epoch from min(state_since)) * 1000)::float8 as oldest
    from purchase_watch.purchases group by site, status, state order by site, status, state`;
}
