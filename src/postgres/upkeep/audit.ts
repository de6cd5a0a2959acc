/**
 * Proves that each transition was announced, and that each event goes to all subscribers that want it: transitions = events =
 * deliveries per matching subscriber. Reads in batches, each of one statement and so one snapshot; changes nothing.
 */
import type { Instant } from '../../domain/values/time.ts';
import { openAside, type Queries, type Sql } from '../connection/database.ts';
import { firstValue, onlyRow } from '../connection/rows.ts';
import {
  AUDIT_CHECKS,
  type AuditCheck,
  checkCounters,
  checkDeliveries,
  checkPurchases,
  checkSiteEvents,
  LISTED,
  type Range,
  type Report,
} from './audit-checks.ts';
import { checkOutcomeHours, checkOutcomeSums, checkOutcomes } from './audit-outcomes.ts';

/** A place where a row is missing or wrong. */
export interface Gap {
  readonly site: string | null;
  readonly purchaseId: string | null;
  readonly sequence: number | null;
  /** The fault, in words. */
  readonly detail: string;
}

export interface CheckResult {
  readonly checked: number;
  readonly gaps: number;
  /** The first gaps. */
  readonly first: readonly Gap[];
}

export type AuditResult = Record<AuditCheck, CheckResult>;

export interface AuditOptions {
  /** Checks only purchases and counters of this site. */
  readonly site: string | null;
  /** Checks only purchases that were registered or changed since this moment, and events made since. */
  readonly since: Instant | null;
  /** Purchases in a batch. */
  readonly batch?: number;
  /** Called with how many rows of a kind have been checked. */
  onProgress?(kind: keyof typeof KEYS, count: number): void;
}

const BATCH = 5_000;
/** Beyond every key: the last batch has no end, so that rows behind the last known one are checked, too. */
const END = '9223372036854775807';

/** Runs all checks. Memory stays the same however many purchases there are. */
export async function audit(pool: Sql, options: AuditOptions): Promise<AuditResult> {
  const sql = openAside(pool);
  try {
    // For a generic plan the planner does not know how many rows a range holds; it assumes few, and would compare each row with
    // each. Without nested loops the database sorts or hashes, which is right for any number.
    await sql`set plan_cache_mode = force_custom_plan`;
    await sql`set enable_nestloop = off`;
    return await runChecks(sql, options);
  } finally {
    // Behind a pooler the next client gets this session. The error does not matter: a connection that is lost loses its settings, too.
    await sql`reset enable_nestloop`.catch(() => undefined);
    await sql`reset plan_cache_mode`.catch(() => undefined);
    await sql.end({ timeout: 1 });
  }
}

async function runChecks(sql: Queries, options: AuditOptions): Promise<AuditResult> {
  const { site, since, batch = BATCH, onProgress = () => undefined } = options;
  const result = Object.fromEntries(AUDIT_CHECKS.map((check) => [check, NOTHING])) as AuditResult;
  const add = (reports: readonly Report[]): void => {
    for (const { check, checked, gaps, first } of reports) {
      const before = result[check];
      const listed = [...before.first, ...(JSON.parse(first) as Gap[])].slice(0, LISTED);
      result[check] = { checked: before.checked + checked, gaps: before.gaps + gaps, first: listed };
    }
  };
  /** Goes through a table by its key, a batch of keys at a time. */
  const walk = async (
    kind: keyof typeof KEYS,
    from: string,
    check: (sql: Queries, range: Range) => PromiseLike<readonly Report[]>,
  ): Promise<void> => {
    const [table, key] = KEYS[kind];
    let looked = 0;
    for (let after = from; after !== END; ) {
      const { last, count } = await onlyRow(sql<{ last: string | null; count: number }[]>`
        select max(key)::text as last, count(*)
        from (select ${sql(key)} as key from ${sql(table)} where ${sql(key)} > ${after}::bigint order by ${sql(key)} limit ${batch}) b`);
      const through = last === null || count < batch ? END : last;
      add(await check(sql, { after, through, site, since }));
      looked += count;
      onProgress(kind, looked);
      after = through;
    }
  };

  await walk('purchases', '0', async (own, range) => [
    ...(await checkPurchases(own, range)),
    ...(await rowByRow(own, () => checkOutcomes(own, range))),
  ]);
  // Leaves out events before that moment; positions follow time nearly.
  const begin = await firstValue<string>(sql`
    select coalesce(case when ${since}::float8 is not null
      then purchase_watch_internal.position_at(${since}::timestamptz - interval '1 minute') - 1 end, 0)::text`);
  await walk('events', begin, checkSiteEvents);
  // A delivery without its event has no site any more.
  if (site === null) await walk('deliveries', begin, checkDeliveries);
  add(await checkCounters(sql, site));
  add(await checkOutcomeHours(sql, site));
  add(await checkOutcomeSums(sql, site));
  return result;
}

/**
 * Runs a statement with nested loops. For each purchase that was not paid it looks for others of the order, which an index finds;
 * without nested loops each such look would read the stored fields of all purchases.
 */
async function rowByRow<T>(sql: Queries, run: () => PromiseLike<T>): Promise<T> {
  await sql`set enable_nestloop = on`;
  const answer = await run();
  await sql`set enable_nestloop = off`;
  return answer;
}

/** By which table and key each kind is gone through. */
const KEYS = {
  purchases: ['purchase_watch.purchases', 'id'],
  events: ['purchase_watch_internal.events', 'position'],
  deliveries: ['purchase_watch_internal.deliveries', 'event'],
} as const;

const NOTHING: CheckResult = { checked: 0, gaps: 0, first: [] };
