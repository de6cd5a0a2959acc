/**
 * Two weeks before the demo began, for the pictures of the console: what is usual at each step, how long customers stay there, and
 * the last hour by the minute. The numbers follow from the place of each minute alone, so each run writes the same ones.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { numberOf, type StateName } from '../src/domain/purchases/states.ts';
import { bucketOf } from '../src/domain/stays/dwell.ts';
import { DAY, type Instant, MINUTE, SECOND } from '../src/domain/values/time.ts';
import { connect } from '../src/postgres/connection/database.ts';
import { startEmbedded } from '../src/postgres/embedded/embedded.ts';
import { migrateOrExplain } from '../src/postgres/migrations/migrate-or-explain.ts';
import { syncSites } from '../src/postgres/polling/sites.ts';

const MIGRATIONS = join(import.meta.dirname, '../migrations');
const DAYS = 14;
const BUCKET = 10 * MINUTE;
const SITES = ['demo-se', 'demo-fi'];

/** Of a hundred customers, how many go each way; null: they came. */
const WAYS: readonly (readonly [from: StateName | null, to: StateName, share: number])[] = [
  [null, 'New', 100],
  ['New', 'BeingProcessed', 96],
  ['New', 'SessionTimedOut', 4],
  ['BeingProcessed', 'WaitingForCardPayments', 44],
  ['BeingProcessed', 'WaitingForEidApp', 18],
  ['BeingProcessed', 'WaitingForMobilePayment', 16],
  ['BeingProcessed', 'WaitingForIdentityProvider', 10],
  ['BeingProcessed', 'WaitingForFinnishDirectPayment', 8],
  ['WaitingForCardPayments', 'Completed', 40],
  ['WaitingForCardPayments', 'Error', 4],
  ['WaitingForEidApp', 'Completed', 17],
  ['WaitingForEidApp', 'Cancelled', 1],
  ['WaitingForMobilePayment', 'Completed', 16],
  ['WaitingForIdentityProvider', 'Completed', 9],
  ['WaitingForIdentityProvider', 'CreditNotApproved', 1],
  ['WaitingForFinnishDirectPayment', 'Completed', 8],
];
/** Seconds that half of the customers stay at most, as the demo's customers do. */
const STAYS: readonly (readonly [StateName, seconds: number])[] = [
  ['WaitingForCardPayments', 3],
  ['WaitingForEidApp', 4],
  ['WaitingForMobilePayment', 4],
  ['WaitingForIdentityProvider', 3],
  ['WaitingForFinnishDirectPayment', 5],
];
/** Customers of a site in ten minutes; polls and taken events of a site in a minute. */
const [CUSTOMERS, POLLS, TAKEN] = [60, 55, 28];

/** From 0.85 to 1.15, without a pattern that shows. */
const swing = (place: number): number => 1 + 0.15 * Math.sin(place * 12.9898) * Math.cos(place * 4.1414);

/** Makes the database of a demo that has not begun, with its sites and their past. */
export async function writeHistory(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true });
  const postgres = await startEmbedded({ dataDir });
  await migrateOrExplain(postgres.url, MIGRATIONS);
  const sql = connect(postgres.url, { max: 1, name: 'pictures' });
  try {
    await syncSites(sql, SITES);
    const now = Date.now();
    const counts = SITES.flatMap((site) => bucketsUntil(now).flatMap((at) => countsAt(site, at)));
    await sql`
      insert into purchase_watch_internal.transition_counts (site, bucket, from_state, to_state, count)
      select * from json_to_recordset(${JSON.stringify(counts)}::text::json) as r (site text, bucket timestamptz, from_state integer, to_state integer, count bigint)
      on conflict do nothing`;
    const minute = Math.floor(now / MINUTE) * MINUTE;
    const minutes = Array.from({ length: DAYS * 1_440 }, (_, place) => minute - (place + 1) * MINUTE);
    const work = minutes.flatMap((at, place) => SITES.map((site, of) => workAt(site, at, place * 2 + of)));
    await sql`
      insert into purchase_watch_internal.activity (site, minute, polls, failed_polls, changes, greatest_lag_ms)
      select * from json_to_recordset(${JSON.stringify(work)}::text::json) as r (site text, minute timestamptz, polls bigint, failed_polls bigint, changes bigint, greatest_lag_ms bigint)
      on conflict do nothing`;
    const taken = minutes.map((at, place) => ({ minute: new Date(at), delivered: Math.round(2 * TAKEN * swing(place)) }));
    await sql`
      insert into purchase_watch_internal.delivery_activity (subscriber, minute, delivered)
      select 'shop', * from json_to_recordset(${JSON.stringify(taken)}::text::json) as r (minute timestamptz, delivered bigint)
      on conflict do nothing`;
    const stays = SITES.flatMap((site) => STAYS.flatMap(([state, seconds]) => staysOf(site, state, { seconds, now })));
    await sql`
      insert into purchase_watch_internal.dwell_days (site, state, day, bucket, shortest, longest)
      select * from json_to_recordset(${JSON.stringify(stays)}::text::json) as r (site text, state integer, day date, bucket smallint, shortest integer, longest integer)
      on conflict do nothing`;
  } finally {
    await sql.end({ timeout: 1 });
    await postgres.stop();
  }
}

/** The begin of each ten minutes of the two weeks, but for the present ones, which the demo counts itself. */
function bucketsUntil(now: Instant): Instant[] {
  const present = Math.floor(now / BUCKET) * BUCKET;
  return Array.from({ length: (DAYS * DAY) / BUCKET + 6 }, (_, place) => present - (place + 1) * BUCKET);
}

function countsAt(site: string, at: Instant) {
  const customers = CUSTOMERS * swing(at / BUCKET);
  return WAYS.map(([from, to, share]) => ({
    ...{ site, bucket: new Date(at), from_state: from === null ? null : numberOf(from), to_state: numberOf(to) },
    count: Math.round((customers * share) / 100),
  })).filter(({ count }) => count > 0);
}

function workAt(site: string, at: Instant, place: number) {
  const polls = Math.round(POLLS * swing(place));
  // One poll of some thousand fails, as it does in life.
  return {
    site,
    minute: new Date(at),
    polls,
    failed_polls: place % 37 === 5 ? 1 : 0,
    changes: TAKEN,
    greatest_lag_ms: 40 + (place % 9) * 12,
  };
}

/** A hill around the usual length; a poll before and one after bound each stay. */
function staysOf(site: string, state: StateName, { seconds, now }: { seconds: number; now: Instant }) {
  const hill = [0.4, 0.6, 0.8, 1, 1.2, 1.5, 1.9].map((factor, place) => ({
    bucket: bucketOf(factor * seconds * SECOND),
    count: [3, 9, 18, 24, 17, 8, 2][place]!,
  }));
  const byBucket = Map.groupBy(hill, ({ bucket }) => bucket);
  return Array.from({ length: DAYS }, (_, day) => new Date(now - (day + 1) * DAY).toISOString().slice(0, 10)).flatMap((day) =>
    [...byBucket].map(([bucket, parts]) => {
      const count = parts.reduce((sum, part) => sum + part.count, 0);
      return { site, state: numberOf(state), day, bucket, shortest: count, longest: count };
    }),
  );
}
