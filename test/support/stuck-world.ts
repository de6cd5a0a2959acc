/** Incidents with full tables: 1 000 customers stuck at one site in several currencies, one cause at three sites, and 200 that ended. */
import { vi } from 'vitest';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { startTestApp, type TestApp } from './test-app.ts';

const [CARD, IDENTITY] = [6, 4];
export const STUCK = 1_000;
/** Of those who were stuck at that site, and are not any more. */
export const LEFT = { late: 30, lost: 60, other: 10 };
/** 200 characters without a place to break. */
const LONG = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft'.repeat(3).slice(0, 200);

interface Place {
  readonly site: string;
  readonly state: number;
  readonly stuck: number;
  readonly currencies: readonly string[];
  /** Since when customers are stuck. */
  readonly minutes: number;
}

const CARDS: Place = { site: 'shop-dk', state: CARD, stuck: STUCK, currencies: ['DKK', 'EUR', 'SEK'], minutes: 200 };
const PROVIDER: readonly Place[] = [
  { site: 'shop-se', state: IDENTITY, stuck: 29, currencies: ['SEK'], minutes: 40 },
  { site: 'shop-no', state: IDENTITY, stuck: 9, currencies: ['NOK'], minutes: 38 },
  { site: 'shop-fi', state: IDENTITY, stuck: 3, currencies: ['EUR'], minutes: 31 },
];

export interface StuckWorld {
  readonly t: TestApp;
  /** The incident of 1 000 customers. */
  readonly cards: string;
  /** The incident of three sites. */
  readonly sites: string;
}

/** A daemon that runs, whose judge has alerted people of both incidents. */
export async function startStuckWorld(env: Record<string, string> = {}): Promise<StuckWorld> {
  const t = await startTestApp({
    realClock: true,
    inventsEvents: true,
    env,
    change: (settings) => {
      settings.sites = [CARDS, ...PROVIDER].map(({ site }) => ({ ...settings.sites[0]!, name: site }));
      settings.slack = { ...settings.slack, groupWait: 0 };
    },
  });
  const { sql } = t.database;
  for (const place of [CARDS, ...PROVIDER]) await addPlace(sql, place);
  await addLeft(sql);
  await addHistory(sql);
  await addEnded(sql);
  // It began long before the others, so it is no part of them.
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, alarm)
    values ('inc_cards', 'stuck', ${CARDS.site}, ${CARD}, now() - interval '180 min', now() - interval '200 min', 900, 1020, ${JSON.stringify(alarmOf(CARDS))})`;
  await t.app.start();
  const sites = await vi.waitFor(
    async () => {
      const rows = await sql<{ id: string; whole: boolean }[]>`
        select id, site is null as whole from purchase_watch_internal.incidents
        where ended_at is null and alerted_at is not null and count in (${STUCK}, 41)`;
      const whole = rows.find((row) => row.whole);
      if (whole === undefined || rows.length < 2) throw new Error('not alerted yet');
      return whole.id;
    },
    { timeout: 60_000, interval: 100 },
  );
  return { t, cards: 'inc_cards', sites };
}

function alarmOf({ minutes, stuck }: Place) {
  const since = Date.now() - minutes * 60_000;
  const counted = { entrants: Math.min(stuck, 4), overdue: Math.min(stuck, 4) };
  return { ...counted, at: since + 960_000, rule: 'share', since, usualShare: 0.013, perDay: 4_500, falseAlarmEvery: 5_600 };
}

/** Customers who are stuck, and the alarm that is on there: so the judge finds them as it would have left them. */
async function addPlace(sql: Sql, place: Place): Promise<void> {
  const { site, state, stuck, currencies, minutes } = place;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, stuck_since, seen_at, last_polled_at, registered_at, watched_since,
      polls, sequence, next_poll_at, reference)
    select case when i % 50 = 7 then rpad(${site}::text || '-' || i || '-', 200, 'w') else md5(${site}::text || i)::uuid::text end, ${site}, 'watching', ${state}, at, at + interval '15 min', now(), now(),
      at - interval '1 min', at - interval '1 min', 9, 3, now() + interval '60 days',
      case when i % 40 = 3 then rpad('ORDER-' || i || '-', 200, 'M') when i % 9 <> 0 then 'ORD-' || (1000 + i) || '-' || right(${site}, 2) end
    from (select i, now() - (${minutes - 16} * interval '1 min') * (1 - i::float8 / ${stuck}) - interval '16 min' + interval '5 s' as at from generate_series(1, ${stuck}) i) s order by i`;
  await sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, json_build_object('Price', case when i % 97 = 5 then 1234567890.45 else 99.5 + (i * 37) % 4000 end, 'CurrencyCode', (${currencies as string[]}::text[])[1 + i % ${currencies.length}],
      'OrderReference', coalesce(reference, 'SVC-' || i))
    from (select id, reference, row_number() over (order by id) as i from purchase_watch.purchases where site = ${site}) p where i % 100 <> 11`;
  const { entrants, overdue } = alarmOf(place);
  const memory = {
    ...{
      site,
      state,
      countedFrom: Date.now() - 30 * 86_400_000,
      score: 9,
      row: null,
      lastWellAt: Date.now() - (minutes + 2) * 60_000,
    },
    run: { since: alarmOf(place).since, entrants: stuck + 12, overdue: stuck, customers: [], overdueAfter: 900_000 },
    ...{ alarm: { ...alarmOf(place), entrants, overdue }, wellSince: [], noneOverdueSince: null },
    lately: Array.from({ length: 20 }, (_, each) => each % 20 < 6 + Math.min(stuck, 11)),
    exits: { well: 2, timedOut: 3, other: 0, timedOutAfter: [] },
  };
  await sql`insert into purchase_watch_internal.detections (site, state, memory) values (${site}, ${state}, ${JSON.stringify(memory)})`;
}

/** Customers of the same place who were stuck: paid late, not paid, and gone on to another state. */
async function addLeft(sql: Sql): Promise<void> {
  const { late, lost, other } = LEFT;
  await sql`
    insert into purchase_watch.purchases (purchase_id, site, status, state, state_since, seen_at, registered_at, watched_since, polls, sequence, ended_at, next_poll_at, reference)
    select md5('left' || i)::uuid::text, ${CARDS.site}, case when state = 1 then 'watching' else 'settled' end, state, at + interval '25 min', now(), at, at, 9, 4,
      case when state <> 1 then at + interval '25 min' end, case when state = 1 then now() + interval '60 days' end, 'LEFT-' || i
    from (select i, case when i <= ${late} then 2 when i <= ${late + lost} then 5 else 1 end as state, now() - interval '150 min' + i * interval '1 min' as at
      from generate_series(1, ${late + lost + other}) i) s order by i`;
  await sql`
    insert into purchase_watch_internal.purchase_details (purchase, fields)
    select id, '{"Price": 250.00, "CurrencyCode": "DKK"}' from purchase_watch.purchases where reference like 'LEFT-%'`;
}

/** Transitions and events of all of them as the recorder leaves them. */
async function addHistory(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.purchase_transitions (purchase, sequence, from_sequence, from_state, to_state, not_before, not_after)
    select p.id, v.step, v.follows, v.was, coalesce(v.next, p.state), case when v.step > 1 then registered_at + v.step * interval '20 s' end, registered_at + v.step * interval '25 s'
    from (select *, case when reference like 'LEFT-%' then ${CARD} else state end as held from purchase_watch.purchases) p
    cross join lateral (values (1, null::integer, null::integer, 0), (2, 1, 0, held), (4, 2, held, null)) v (step, follows, was, next)
    where v.step < 4 or p.reference like 'LEFT-%' order by p.id, v.step`;
  await sql`
    insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
    select 'evt_' || lpad(p.id || '0' || s, 26, '0'), case when s = 3 then 'purchase.stuck' else 'purchase.state_changed' end, p.site, p.id, s, nullif(s - 1, 0), p.shard,
      case when s = 4 then p.state when p.reference like 'LEFT-%' then ${CARD} else p.state end,
      p.registered_at + case s when 3 then interval '16 min' when 4 then interval '25 min' else s * interval '25 s' end, '{}'
    from purchase_watch.purchases p cross join generate_series(1, 4) s where s <= p.sequence order by s, p.id`;
}

/** 200 that ended, with the longest texts that people may write. */
async function addEnded(sql: Sql): Promise<void> {
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, subscriber, severity, since, opened_at, quiet_since, ended_at, count, peak, moved_on,
      acknowledged_at, acknowledged_by, acknowledged_note, answered_at, answered_by, answer_cause, answer_note)
    select 'inc_ended_' || n, kind, case when kind in ('stuck', 'unreachable') then 'shop-se' end, case when kind = 'stuck' then 9 end, case when kind = 'subscriber' then rpad('books', 63, 's') end,
      n % 2, at, at + interval '9 minutes', at + interval '50 minutes', at + interval '1 hour', 0, 9 + n, 3, case when n % 2 = 0 then at + interval '20 minutes' end, case when n % 2 = 0 then ${LONG} end,
      case when n % 4 = 0 then ${LONG} end, case when n % 3 = 0 then at + interval '2 hours' end, case when n % 3 = 0 then ${LONG} end, case when n % 3 = 0 then 'deploy' end,
      case when n % 6 = 0 then ${LONG} end
    from (select n, (array['stuck', 'stuck', 'unreachable', 'subscriber', 'replica'])[1 + n % 5] as kind, now() - (300 - n) * interval '3 hours' as at from generate_series(1, 200) n) e order by n`;
}
