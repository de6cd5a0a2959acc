/** Incidents of each kind, open and ended, silences, and what people did, with the longest names and notes. */
import type { Sql } from '../../../src/postgres/connection/database.ts';
import { LONG_PERSON, LONG_SITE, OFF, PAUSED, UNBROKEN } from './words.ts';

/** An alarm as the judge writes it: `share` of the customers who came are stuck. */
function alarm(minutes: number, rule: 'share' | 'sparse' = 'share'): string {
  const at = Date.now() - minutes * 60_000;
  return JSON.stringify({
    ...{ at: at + 480_000, rule, since: at, entrants: 40, overdue: 9, usualShare: 0.02, perDay: 4_500, falseAlarmEvery: 5_700 },
  });
}

/** Writes the incidents as the judge leaves them; subscribers must be there. */
export async function addIncidents(sql: Sql): Promise<void> {
  const [cards, identity, bank, long] = [alarm(560), alarm(450), alarm(460, 'sparse'), alarm(470)];
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, subscriber, parent, severity, alarm, since, opened_at, alerted_at, alerted_count, count, peak, moved_on)
    select id, kind, site, state, subscriber, parent, severity, alarm, now() - age, now() - age + interval '9 minutes',
      now() - age + interval '10 minutes', greatest(count / 2, 1), count, count + 30, count / 10
    from (values
      ('inc_sites', 'stuck', null, null::integer, null, null, 1, null, interval '9 hours 20 minutes', 1140),
      ('inc_se', 'stuck', 'se', null, null, 'inc_sites', 1, null, interval '9 hours 20 minutes', 1100),
      ('inc_se_cards', 'stuck', 'se', 6, null, 'inc_se', 1, ${cards}, interval '9 hours 20 minutes', 1000),
      ('inc_se_identity', 'stuck', 'se', 4, null, 'inc_se', 0, ${identity}, interval '7 hours 30 minutes', 100),
      ('inc_fi_bank', 'stuck', 'fi', 9, null, 'inc_sites', 0, ${bank}, interval '7 hours 40 minutes', 40),
      ('inc_long', 'stuck', ${LONG_SITE}, 6, null, null, 0, ${long}, interval '7 hours 50 minutes', 60),
      ('inc_unread', 'unreachable', ${LONG_SITE}, null, null, null, 1, null, interval '40 minutes', 1),
      ('inc_paused', 'subscriber', null, null, ${PAUSED}, null, 0, null, interval '5 hours', 1000),
      ('inc_off', 'subscriber', null, null, ${OFF}, null, 1, null, interval '2 days', 412),
      ('inc_replica', 'replica', null, null, null, null, 1, null, interval '12 minutes', 1)
    ) v (id, kind, site, state, subscriber, parent, severity, alarm, age, count)`;
  await sql`
    update purchase_watch_internal.incidents set acknowledged_at = now() - interval '2 hours', acknowledged_by = ${LONG_PERSON}, acknowledged_note = ${`${UNBROKEN} ${UNBROKEN} ${UNBROKEN}`}
    where id in ('inc_se_cards', 'inc_long', 'inc_off')`;
  await sql`update purchase_watch_internal.incidents set quiet_since = now(), ends_at = now() + interval '9 minutes', count = 0 where id = 'inc_replica'`;
  await sql`
    insert into purchase_watch_internal.incidents (id, kind, site, state, subscriber, severity, alarm, since, opened_at, quiet_since, ended_at, alerted_at, alerted_count, count, peak, moved_on,
      acknowledged_at, acknowledged_by, acknowledged_note, answered_at, answered_by, answer_cause, answer_note)
    select 'inc_ended_' || n, kind, case when kind in ('stuck', 'unreachable') then (array['se', 'fi', ${LONG_SITE}])[1 + n % 3] end, case when kind = 'stuck' then 6 end,
      case when kind = 'subscriber' then ${PAUSED} end, n % 2, case when kind = 'stuck' then ${cards} end, at, at + interval '9 minutes', at + interval '50 minutes', at + interval '1 hour',
      at + interval '10 minutes', 4, 0, 9 + n, 3, case when n % 2 = 0 then at + interval '20 minutes' end, case when n % 2 = 0 then ${LONG_PERSON} end,
      case when n % 4 = 0 then ${UNBROKEN} end, case when n % 3 = 0 then at + interval '2 hours' end, case when n % 3 = 0 then ${LONG_PERSON} end, case when n % 3 = 0 then 'deploy' end,
      case when n % 6 = 0 then ${UNBROKEN} end
    from (select n, (array['stuck', 'stuck', 'unreachable', 'subscriber', 'replica'])[1 + n % 5] as kind, now() - (300 - n) * interval '3 hours' as at from generate_series(1, 250) n) e order by n`;
  await sql`
    insert into purchase_watch_internal.silences (kind, site, state, subscriber, reason, created_by, created_at, starts_at, ends_at)
    select case n % 4 when 0 then 'stuck' when 1 then 'subscriber' end, case when n % 4 <> 1 then (array['se', 'fi', ${LONG_SITE}])[1 + n % 3] end, case when n % 4 = 0 then 6 end,
      case when n % 4 = 1 then ${PAUSED} end, case when n % 2 = 0 then ${UNBROKEN} else 'The bank changes its page.' end, case when n % 3 = 0 then ${LONG_PERSON} else 'Kim' end, now(),
      now() + (n - 230) * interval '1 hour', now() + (n - 229) * interval '1 hour' + case when n > 225 then interval '5 hours' else interval '0' end
    from generate_series(1, 330) n`;
  await sql`
    insert into purchase_watch_internal.actions (at, key_name, address, via, call, subject, outcome)
    select now() - (300 - n) * interval '1 minute', case when n % 5 = 0 then rpad('key-', 60, 'k') else 'operator' end, case when n % 3 = 0 then rpad('10.0.0.7 ', 150, 'h') else '10.0.0.7' end,
      (array['api', 'console', 'cli'])[1 + n % 3], (array['POST /v1/deliveries/{id}/retry', 'POST /v1/incidents/{id}/acknowledge', 'sign in'])[1 + n % 3],
      jsonb_build_object('id', case when n % 4 = 0 then rpad('purchase-', 200, 'w') else 'dlv_' || n end, 'site', ${LONG_SITE}::text), case when n % 9 = 0 then 'failed' else 'done' end
    from generate_series(1, 300) n`;
}
