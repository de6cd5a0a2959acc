/** Everything that one look of the judge reads: first what may show that something is wrong, then, if something is, what the judgement rests on beside that. */

import type { Incident } from '../../domain/incidents/incident.ts';
import type { Symptom } from '../../domain/incidents/symptom.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Fragment, Queries } from '../connection/database.ts';
import { onlyRow } from '../connection/rows.ts';
import { LEASES } from '../migrations/names.ts';
import { endFailuresWithoutPurchases } from '../polling/sites.ts';
import { keptLease } from '../shards/leases.ts';
import { loadDetections, loadStays } from '../stays/stays.ts';
import type { UsualReader } from '../stays/usual.ts';
import { peopleChannels, subscriberSymptoms } from '../subscribers/symptoms.ts';
import { channelsAlerted, countStuck, currentSymptoms, incidentsNow, openIncidents } from './incidents.ts';
import { silencesAt } from './silences.ts';

/** The judge's lease, and whether there is nothing to judge: then one statement stands for ten. A site that no replica names counts as something. */
export const glance = (sql: Queries, { replica, now }: { replica: string; now: Instant }) =>
  onlyRow(sql<{ epoch: number | null; isCalm: boolean }[]>`
    select (${keptLease(sql, { name: LEASES.judge, replica })}) as epoch, not (
      exists (select from purchase_watch_internal.stays)
      or exists (${incidentsNow(sql, now)})
      or exists (select from purchase_watch_internal.detections where memory::jsonb -> 'alarm' <> 'null')
      or exists (select from purchase_watch_internal.sites where failing_since is not null or unnamed_since is not null)
      or exists (${subscriberSymptoms(sql, now)})
      or exists (select from purchase_watch_internal.replica_troubles)
      or exists (select from purchase_watch_internal.database_changes where kind = 'went_back' and compared_at is null)
      or exists (select from (${others(sql)}) o where o.checkouts or o.payments or o.first_looks)) as is_calm`);

/**
 * The next stays, `most` at a time, the judge's memory, the incidents, and the symptoms without stuck purchases. When there are stays,
 * `usual` is brought up to date as well.
 */
export async function readLook(sql: Queries, { now, most, usual }: { now: Instant; most: number; usual: UsualReader }) {
  // One statement after the other, on one connection: the others are the poller's.
  const stays = await loadStays(sql, most);
  if (stays.length > 0) await usual.refresh(now);
  const detections = await loadDetections(sql);
  const incidents = await openIncidents(sql, now);
  return { stays, detections, incidents, symptoms: await presentSymptoms(sql, now) };
}

/** The symptoms, after failures were ended that no answer would ever end. */
async function presentSymptoms(sql: Queries, now: Instant): Promise<Symptom[]> {
  const symptoms = await currentSymptoms(sql, now);
  const isOver = symptoms.some(({ kind }) => kind === 'unreachable') && (await endFailuresWithoutPurchases(sql));
  return isOver ? currentSymptoms(sql, now) : symptoms;
}

/** Whether people may have to be alerted of single checkouts, payments or first looks. Mostly not: then one statement stands for three. */
export const readOthers = (sql: Queries) =>
  onlyRow(sql<{ checkouts: boolean; payments: boolean; firstLooks: boolean }[]>`${others(sql)}`);

const others = (sql: Queries): Fragment => sql`
    select exists (select from purchase_watch_internal.stuck_alerts where ended_at is null) as checkouts,
      exists (select from purchase_watch_internal.order_payments where announced_at is null) as payments,
      exists (select from purchase_watch_internal.sites where first_look_since is not null and first_look_alerted_at is null) as first_looks`;

/** Who is stuck where an alarm is on, the silences, the channels for people, and by incident which of these were alerted of it. */
export async function readSurroundings(
  sql: Queries,
  { now, alarms, incidents }: { now: Instant; alarms: Parameters<typeof countStuck>[1]; incidents: readonly Incident[] },
) {
  return {
    overdue: await countStuck(sql, alarms),
    silences: await silencesAt(sql, now),
    people: await peopleChannels(sql, now),
    alerted: await channelsAlerted(
      sql,
      incidents.map(({ id }) => id),
    ),
  };
}
