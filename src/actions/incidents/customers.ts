/** The customers in an incident: those who wait now, their money, and how the share of those who did not get on went. */
import { fateOf, type ShareStep, type StayFate, shareOverTime } from '../../domain/incidents/customers.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { DAY, isoTime, isoTimeOrNull, MINUTE } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type NamedStay, placesBelow, staysBetween, stuckPurchases } from '../../postgres/incidents/customers.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { moneyWaiting } from '../../postgres/stays/evidence.ts';
import { requireIncident } from './incidents.ts';

/** Stuck purchases that are listed, and those of each place that are counted. */
const MOST_LISTED = 100;
const MOST_COUNTED = 1_000;
const MOST_PLACES = 50;
/** Purchases of which the stays are looked for. */
const MOST_EXAMINED = 1_000;
/** The time before the first customer that is shown, too: as long as it lasted, within these. */
const SHORTEST_LEAD = 20 * MINUTE;
const LONGEST_LEAD = DAY;

/** Reads the customers in an incident, bounded; none for incidents that are not about stuck purchases. Throws Refused. */
export async function customersIn(sql: Sql, id: string) {
  const [incident, now] = await Promise.all([requireIncident(sql, id), databaseNow(sql)]);
  const { kind, site, state, endedAt, alarm } = incident;
  const places = kind === 'stuck' ? await placesBelow(sql, { ids: [id], most: MOST_PLACES }) : [];
  const since = alarm?.since ?? incident.since;
  const until = endedAt ?? now;
  const from = since - Math.min(Math.max(until - since, SHORTEST_LEAD), LONGEST_LEAD);
  const isLeaf = kind === 'stuck' && site !== null && state !== null;
  const none = { purchases: [], counted: 0, atLeast: false };
  const [overdue, [money], { stays, isComplete }] = await Promise.all([
    places.length === 0 || endedAt !== null ? none : stuckPurchases(sql, { places, limit: MOST_LISTED, most: MOST_COUNTED }),
    moneyWaiting(sql, { groups: [endedAt === null ? places : []], most: MOST_COUNTED }),
    isLeaf ? staysBetween(sql, { site, state, from, until, most: MOST_EXAMINED }) : { stays: [], isComplete: false },
  ]);
  return {
    data: overdue.purchases.map(({ stateSince, stuckSince, state: at, ...each }) => ({
      ...each,
      state: { ...namedState(at) },
      stateSince: isoTime(stateSince),
      stuckSince: isoTime(stuckSince),
    })),
    counted: overdue.counted,
    atLeast: overdue.atLeast,
    waiting: money!.waiting,
    unpriced: money!.unpriced,
    came: isLeaf
      ? {
          from: isoTime(from),
          until: isoTime(until),
          isComplete,
          stays: stays.map(stayBody),
          share: shareOverTime(stays).map(stepBody),
        }
      : null,
  };
}

function stayBody(stay: NamedStay) {
  const { purchaseId, enteredAt, overdueAt, leftAt, toState } = stay;
  const fate: StayFate = fateOf(stay);
  const to = toState === null ? null : { ...namedState(toState) };
  return {
    purchaseId,
    enteredAt: isoTime(enteredAt),
    overdueAt: isoTimeOrNull(overdueAt),
    leftAt: isoTimeOrNull(leftAt),
    to,
    fate,
  };
}

const stepBody = ({ at, ...counts }: ShareStep) => ({ at: isoTime(at), ...counts });
