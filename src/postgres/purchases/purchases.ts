/** Purchases as people and programs register, read and stop them. The poller's statements are in queue.ts and record.ts. */

import type { PurchaseStatus } from '../../domain/purchases/purchase.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

export interface Registration {
  readonly purchaseId: string;
  /** Null: the site named `default`, or the only one. */
  readonly site: string | null;
  readonly reference: string | null;
  /** JSON text of an object. */
  readonly metadata: string | null;
}

/** A purchase as commands and the API show it. Times are epoch milliseconds. */
export interface PurchaseRow {
  readonly id: number;
  readonly purchaseId: string;
  readonly site: string;
  readonly status: PurchaseStatus;
  readonly state: number | null;
  readonly stateSince: Instant | null;
  readonly stuckSince: Instant | null;
  /** Whether it was ever found stuck. */
  readonly wasStuck: boolean;
  readonly reference: string | null;
  /** JSON text. */
  readonly metadata: string | null;
  readonly registeredAt: Instant;
  readonly lastPolledAt: Instant | null;
  readonly nextPollAt: Instant | null;
  readonly polls: number;
  readonly failures: number;
  readonly lastError: string | null;
  /** When the last good answer came. */
  readonly seenAt: Instant | null;
  /** How much of the stay, up to `seenAt`, the purchase could not be polled. */
  readonly excused: Milliseconds;
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

/** The columns of a PurchaseRow, of a purchase `p` and its stored fields `d`. */
export const PURCHASE_COLUMNS = `
  p.id, p.purchase_id, p.site, p.status, p.state, p.state_since, p.stuck_since, p.reference, p.metadata::text as metadata, p.registered_at,
  p.last_polled_at, p.next_poll_at, p.polls, p.failures, p.last_error, p.seen_at, p.excused_ms as excused, d.fields::text as details,
  exists (select from purchase_watch_internal.events e where e.purchase = p.id and e.type = 'purchase.stuck') as was_stuck`;

/** The result of a registration. A purchase that was stopped or had expired is watched again. */
export type Registered = 'created' | 'existing' | 'watched again';

/** More purchases than this in one statement are a bulk registration; the same as in `purchase_watch_internal.nudge_registered`. */
export const MOST_SINGLE = 50;

/**
 * Registers purchases in one statement. Answers the result of each, in order. The caller has checked ids and sites. `isBulk`: they
 * are part of a bulk registration, and their first polls go after those of purchases that are registered one by one.
 */
export async function register(
  sql: Queries,
  wanted: readonly Registration[],
  {
    by = 'api',
    isBulk = wanted.length > MOST_SINGLE,
    former = new Set(),
  }: { by?: 'api' | 'cli'; isBulk?: boolean; former?: ReadonlySet<string> } = {},
): Promise<Registered[]> {
  if (wanted.length === 0) return [];
  const registrations = await withSites(sql, wanted, former);
  const created = await sql<{ site: string; purchaseId: string }[]>`
    insert into purchase_watch.purchases (purchase_id, site, reference, metadata, registered_by, bulk)
    select purchase_id, site, reference, metadata::jsonb, ${by}, ${isBulk ? true : null}::boolean
    from ${columns(sql, registrations, 'r', 'purchase_id text, site text, reference text, metadata text', 'place')}
    -- All statements use this order, so that two lists with the same ids never wait for each other. Of a repeated id, the first counts.
    order by site, purchase_id collate "C", place
    on conflict do nothing
    returning site, purchase_id`;
  const isNew = new Set(created.map(keyOf));
  const answers = registrations.map((r): Registered => (isNew.delete(keyOf(r)) ? 'created' : 'existing'));
  const existing = registrations.filter((_, index) => answers[index] === 'existing');
  if (existing.length === 0) return answers;
  const again = await sql<{ site: string; purchaseId: string }[]>`
    select site, purchase_id
    from purchase_watch_internal.watch_again(${existing.map((r) => r.purchaseId)}::text[], ${existing.map((r) => r.site)}::text[], ${isBulk})`;
  const isAgain = new Set(again.map(keyOf));
  return registrations.map((r, index) =>
    answers[index] === 'existing' && isAgain.delete(keyOf(r)) ? 'watched again' : answers[index]!,
  );
}

/** One key for each site and id; the name of a site holds no slash. */
const keyOf = ({ site, purchaseId }: { readonly site: string | null; readonly purchaseId: string }) => `${site}/${purchaseId}`;

/**
 * Fills in the site of registrations that name none, or a former name. Where no site fits, the site stays null, and the
 * database's error says what to do.
 */
async function withSites(
  sql: Queries,
  registrations: readonly Registration[],
  former: ReadonlySet<string>,
): Promise<readonly Registration[]> {
  const asked = new Set(registrations.map(({ site }) => site).filter((site) => site === null || former.has(site)));
  if (asked.size === 0) return registrations;
  const rows = await sql<{ name: string | null; site: string | null }[]>`
    select n.name, coalesce(purchase_watch_internal.present_site(n.name), purchase_watch_internal.default_site()) as site
    from unnest(${[...asked]}::text[]) n (name)`;
  const sites = new Map(rows.map(({ name, site }) => [name, site]));
  return registrations.map((r) => (sites.has(r.site) ? { ...r, site: sites.get(r.site) ?? null } : r));
}

/** The purchase of this id; several when no site is named and sites share the id. */
export const findPurchases = (
  sql: Queries,
  { purchaseId, site }: { purchaseId: string; site: string | null },
): Promise<PurchaseRow[]> => sql`
    select ${sql.unsafe(PURCHASE_COLUMNS)} from purchase_watch.purchases p left join purchase_watch_internal.purchase_details d on d.purchase = p.id
    where p.purchase_id = ${purchaseId} and ${site === null ? sql`p.site in (select name from purchase_watch_internal.sites)` : sql`p.site in (${site}, purchase_watch_internal.present_site(${site}))`}
    order by p.site`;

/** Transitions that are read at most: a purchase may go to and fro between states. */
const MOST_TRANSITIONS = 1_000;

/** A purchase's latest transitions, first to last. */
export async function transitionsOf(sql: Queries, id: number): Promise<TransitionRow[]> {
  const latest = await sql<TransitionRow[]>`
    select sequence, from_state as "from", to_state as "to", not_before, not_after
    from purchase_watch_internal.purchase_transitions where purchase = ${id} order by sequence desc limit ${MOST_TRANSITIONS}`;
  return latest.reverse();
}

/** A purchase by its own name. A row id that was read before may be another purchase's by now: a database that went back hands ids out again. */
export type PurchaseName = Pick<PurchaseRow, 'site' | 'purchaseId'>;

/** Stops polling a purchase; its history stays. A poll that is under way is not recorded. */
export async function stopPurchase(sql: Queries, { site, purchaseId }: PurchaseName): Promise<void> {
  await sql`
    with stopped as (
      update purchase_watch.purchases set status = 'stopped', stuck_since = null, next_poll_at = null, next_poll_reason = null, due_slot = null,
        ended_at = now(), revision = revision + 1
      where site = ${site} and purchase_id = ${purchaseId} and status <> 'stopped' returning id, shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from stopped)
    select pg_notify('purchase_watch_wake', 'judge'), pg_notify('purchase_watch_wake', 'purchases') from stopped`;
}

/**
 * Makes a purchase due now, ahead of others and whatever its plan; the shard's owner polls the purchase and goes on with its plan.
 * Answers how many polls it had. A purchase that is due and goes first already is not written: each write makes a poll under way
 * invalid, and quick repeats would shut out every answer.
 */
export async function requestPoll(sql: Queries, { site, purchaseId }: PurchaseName): Promise<number> {
  const [row] = await sql<{ polls: number }[]>`
    with asked as (
      update purchase_watch.purchases set next_poll_at = now(), next_poll_reason = 'requested',
        due_slot = purchase_watch_internal.due_slot(now()), revision = revision + 1
      where site = ${site} and purchase_id = ${purchaseId} and (next_poll_at is null or next_poll_at > now() or next_poll_reason is null
        or next_poll_reason <> 'requested' and (bulk or next_poll_reason not in ('first', 'renewed'))) returning id, shard),
    nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from asked),
    notified as (select pg_notify('purchase_watch_wake', 'purchases') from asked)
    select p.polls, (select count(*) from notified) from purchase_watch.purchases p
    where p.site = ${site} and p.purchase_id = ${purchaseId}`;
  return row?.polls ?? 0;
}

/** How many polls of a purchase were recorded so far. */
export async function countPolls(sql: Queries, { site, purchaseId }: PurchaseName): Promise<number> {
  const [row] = await sql<{ polls: number }[]>`
    select polls from purchase_watch.purchases where site = ${site} and purchase_id = ${purchaseId}`;
  return row?.polls ?? 0;
}
