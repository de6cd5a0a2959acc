/** How purchases stood every ten minutes of 14 days, as upkeep notes it. */
import type { Sql } from '../../../src/postgres/connection/database.ts';

/** What is noted of a state in which some wait, and a few are stuck. */
function stateOf(state: number, { watching, stuck, limitMs = 900_000 }: { watching: number; stuck: number; limitMs?: number }) {
  const limit = { limitMs, source: 'default' };
  const buckets =
    watching > 12
      ? [0, 1, 3, 7].map((from) => ({ from: from / 10, below: (from + 1) / 10, count: Math.floor(watching / 4) }))
      : null;
  const over = stuck > 0 && buckets !== null ? [{ from: 1.3, below: 1.4, count: stuck }] : [];
  const oldest = Array.from({ length: Math.min(watching, 12) }, (_, place) => ({
    ageMs: (12 - place) * 90_000,
    share: ((12 - place) * 90_000) / limitMs,
    stuck: place < stuck,
  }));
  return [
    state,
    {
      ...{ final: false, watching, stuck, usual: { usualMs: 41_000, p95Ms: 120_000, purchases: 900 } },
      ...{
        limits: [{ site: 'se', limit }],
        ages: { oldest, buckets: buckets === null ? null : [...buckets, ...over], unread: 0 },
      },
    },
  ];
}

/** Writes the moments of all sites and of each: waves of a day, and between 10 and 8 hours ago many who are stuck at the cards. */
export async function addSnapshots(sql: Sql, sites: readonly string[]): Promise<void> {
  const states = (stuck: number): string =>
    JSON.stringify([
      stateOf(0, { watching: 6, stuck: 0 }),
      stateOf(1, { watching: 9, stuck: 0 }),
      stateOf(4, { watching: 8, stuck: 0 }),
      stateOf(6, { watching: 14 + stuck, stuck }),
      stateOf(7, { watching: 5, stuck: 0 }),
    ]);
  await sql`
    insert into purchase_watch_internal.snapshots (at, site, came, watching, stuck, states)
    select at, site, round((case when site is null then 40 else 12 end) * (1.1 + sin(extract(epoch from at) / 86400 * 2 * pi()))), 42 + b.stuck, b.stuck,
      case when b.stuck > 0 then ${states(12)} else ${states(0)} end
    from (select date_bin('10 minutes', now(), 'epoch') - n * interval '10 minutes' as at, n from generate_series(0, 14 * 144 + 6) n) m
    cross join lateral (select case when n between 48 and 60 then 12 else 0 end as stuck) b
    cross join (select null as site union all select unnest(${[...sites]}::text[])) s
    on conflict do nothing`;
}
