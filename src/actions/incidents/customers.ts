/** The customers in an incident: who waits now and who left, their money, each place by itself, and how the share of those who did not get on went. */
import { stateOrNull } from '../../domain/events/make-event.ts';
import { fateOf, LEFT_OUTCOMES, type LeftOutcome, leftOutcome, shareOverTime } from '../../domain/incidents/customers.ts';
import { MARKS_BEFORE, whereOf } from '../../domain/incidents/slice.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { DAY, isoTime, isoTimeOrNull, MINUTE } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import {
  type IncidentPlace,
  type LeftPurchase,
  leftPurchases,
  type NamedStay,
  placesBelow,
  staysBetween,
  stuckPurchases,
} from '../../postgres/incidents/customers.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { type MoneyWaiting, moneyWaiting } from '../../postgres/stays/money.ts';
import { marksIn } from '../../postgres/trends/marks.ts';
import { requireIncident } from './incidents.ts';
import { MOST_PLACES } from './money.ts';

/** Purchases that are listed: of those stuck, and of those who left. */
const MOST_LISTED = 100;
/** Places that are shown each by itself. */
const MOST_SHOWN = 100;
/** Purchases of which the stays are looked for. */
const MOST_EXAMINED = 1_000;
/** The time before the first customer that is shown, too: as long as it lasted, within these. */
const SHORTEST_LEAD = 20 * MINUTE;
const LONGEST_LEAD = DAY;

/**
 * Reads the customers in an incident, bounded; none for incidents that are not about stuck purchases. `outcome` chooses which of
 * those who left are listed. Throws Refused.
 */
export async function customersIn(sql: Sql, id: string, outcome?: LeftOutcome) {
  const [incident, now] = await Promise.all([requireIncident(sql, id), databaseNow(sql)]);
  const { kind, site, state, endedAt, alarm } = incident;
  const places = kind === 'stuck' ? await placesBelow(sql, { ids: [id], most: MOST_PLACES }) : [];
  const since = alarm?.since ?? incident.since;
  const until = endedAt ?? now;
  const from = since - Math.min(Math.max(until - since, SHORTEST_LEAD), LONGEST_LEAD);
  const isLeaf = kind === 'stuck' && site !== null && state !== null;
  const waiting = endedAt === null ? places : [];
  const shown = places.slice(0, MOST_SHOWN);
  const [stuck, [whole, ...each], gone, { stays, isComplete }, marks] = await Promise.all([
    waiting.length === 0 ? [] : stuckPurchases(sql, { places, limit: MOST_LISTED }),
    moneyWaiting(sql, [waiting, ...(endedAt === null ? shown.map((place) => [place]) : [])]),
    leftPurchases(sql, { places, until }),
    isLeaf ? staysBetween(sql, { site, state, from, until, most: MOST_EXAMINED }) : { stays: [], isComplete: false },
    kind === 'stuck' ? marksIn(sql, { from: since - MARKS_BEFORE, to: until }, site) : [],
  ]);
  return {
    data: stuck.map(({ stateSince, stuckSince, state: at, ...purchase }) => ({
      ...purchase,
      state: { ...namedState(at) },
      stateSince: isoTime(stateSince),
      stuckSince: isoTime(stuckSince),
    })),
    ...whole!,
    ...whereOf(
      { stays: stays.filter(({ enteredAt }) => enteredAt >= since), marks },
      { usualShare: alarm?.usualShare ?? null, since },
    ),
    left: leftBody(gone, outcome),
    places: shown.map((place, index) => placeBody(place, each[index] ?? null)),
    came: isLeaf
      ? {
          from: isoTime(from),
          until: isoTime(until),
          isComplete,
          stays: stays.map(stayBody),
          share: shareOverTime(stays).map(({ at, ...counts }) => ({ at: isoTime(at), ...counts })),
        }
      : null,
  };
}

function leftBody({ left, isComplete }: Awaited<ReturnType<typeof leftPurchases>>, outcome: LeftOutcome | undefined) {
  const known = left.map((purchase) => ({ purchase, is: leftOutcome(purchase) }));
  const count = (wanted: LeftOutcome): number => known.filter(({ is }) => is === wanted).length;
  const listed = known.filter(({ is }) => outcome === undefined || is === outcome).slice(0, MOST_LISTED);
  return {
    data: listed.map(({ purchase, is }) => leftPurchaseBody(purchase, is)),
    counts: Object.fromEntries(LEFT_OUTCOMES.map((each) => [each, count(each)])) as Record<LeftOutcome, number>,
    atLeast: !isComplete,
  };
}

function leftPurchaseBody({ state, stateSince, paidByAnotherAt, status, ...purchase }: LeftPurchase, outcome: LeftOutcome) {
  const at = outcome === 'other' ? (paidByAnotherAt ?? stateSince) : stateSince;
  return { ...purchase, state: { ...namedState(state) }, outcome, at: isoTime(at) };
}

function placeBody({ incident, state, since, seen, acknowledged, ...place }: IncidentPlace, money: MoneyWaiting | null) {
  const { run = null, lately = [] } = seen ?? {};
  return {
    ...place,
    state: { ...namedState(state) },
    since: isoTime(since),
    latest: lately.length === 0 ? null : { overdue: lately.filter((isStuck) => isStuck).length, of: lately.length },
    came: run === null ? null : { overdue: run.overdue, of: run.entrants },
    acknowledged: acknowledged === null ? null : { ...acknowledged, at: isoTime(acknowledged.at) },
    money: place.isOver ? null : money,
  };
}

function stayBody(stay: NamedStay) {
  const { purchaseId, enteredAt, overdueAt, leftAt, toState } = stay;
  return {
    purchaseId,
    enteredAt: isoTime(enteredAt),
    overdueAt: isoTimeOrNull(overdueAt),
    leftAt: isoTimeOrNull(leftAt),
    to: stateOrNull(toState),
    fate: fateOf(stay),
  };
}
