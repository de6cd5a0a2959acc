/** The aftermath of an incident of stuck purchases: its customers and their ends, how fast people were, and the loss beyond usual. */

import { stateOrNull } from '../../domain/events/make-event.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { MARKS_BEFORE } from '../../domain/incidents/slice.ts';
import { namedState, statePlace } from '../../domain/purchases/states.ts';
import { eachCustomer, lossOf, type Member, type MemberOutcome } from '../../domain/trends/aftermath.ts';
import { aftermathSentence, aftermathText, billLine, billOf, reckoningText } from '../../domain/trends/aftermath-words.ts';
import { worstMoment } from '../../domain/trends/worst-moment.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { readCounts } from '../../postgres/trends/aftermaths.ts';
import { marksIn } from '../../postgres/trends/marks.ts';
import { membersOf } from '../../postgres/trends/members.ts';
import { csvLine } from '../csv.ts';
import { pastMoment } from '../subscribers/moment.ts';
import { markBody } from '../trends/marks.ts';
import { requireIncident } from './incidents.ts';
import { placeOf } from './words.ts';

/** Reads an aftermath; an incident of another kind has no customers. `outcome` chooses the customers that are listed. Throws Refused. */
export async function readAftermath(sql: Sql, id: string, outcome?: MemberOutcome) {
  const incident = await requireIncident(sql, id);
  const [{ members, isComplete }, counted, now] = await Promise.all([membersOf(sql, id), readCounts(sql, id), databaseNow(sql)]);
  const customers = eachCustomer(members);
  const bill = billOf(members);
  const loss = counted === null ? null : lossOf(counted.counts);
  const states = [...new Set(members.map(({ state }) => state))];
  const { openedAt, endedAt, acknowledgedAt, acknowledgedBy } = incident;
  const earliest = (of: (each: Member) => Instant): Instant | null =>
    members.length === 0 ? null : Math.min(...members.map(of));
  const times = {
    firstCame: earliest(({ came }) => came),
    firstStuck: earliest(({ stuckAt }) => stuckAt),
    noticed: openedAt,
    acknowledged: acknowledgedAt,
    ended: endedAt,
  };
  const told = { where: placeOf(incident), place: placeText(incident.state, states), bill, loss };
  const marks = await marksNear(sql, members, { first: times.firstStuck, until: endedAt ?? now });
  const worst = worstMoment(members, now);
  const head = { ...told, id, severity: levelOf(incident), times, marks };
  return {
    id,
    at: isoTime(now),
    countedAt: isoTimeOrNull(counted?.countedAt ?? null),
    where: told.where,
    place: told.place,
    severity: head.severity,
    sentence: aftermathSentence(told),
    facts: billLine(bill),
    reckoning: reckoningText(loss, { isCounted: counted !== null }),
    text: aftermathText(head, { clock: (at) => isoTime(at).slice(11, 16), day: (at) => isoTime(at).slice(0, 10), zone: 'UTC' }),
    times: {
      firstCame: isoTimeOrNull(times.firstCame),
      firstStuck: isoTimeOrNull(times.firstStuck),
      noticed: isoTime(openedAt),
      acknowledged: isoTimeOrNull(acknowledgedAt),
      acknowledgedBy: acknowledgedAt === null ? null : acknowledgedBy,
      ended: isoTimeOrNull(endedAt),
    },
    marks: marks.map(markBody),
    worstAt: worst === null || 'problem' in pastMoment(worst, now) ? null : isoTime(worst),
    ...bill,
    isComplete,
    loss: loss === null ? null : { ...loss, money: [...loss.money] },
    data: customers.filter((each) => outcome === undefined || each.outcome === outcome).map(customerBody),
  };
}

/** The marks from two hours before the first customer was found stuck; of several sites, those of all. */
async function marksNear(sql: Sql, members: readonly Member[], { first, until }: { first: Instant | null; until: Instant }) {
  const [site, another] = new Set(members.map((each) => each.site));
  if (first === null || site === undefined) return [];
  return marksIn(sql, { from: first - MARKS_BEFORE, to: until }, another === undefined ? site : null);
}

function placeText(state: number | null, states: readonly number[]): string {
  const only = state ?? (states.length === 1 ? states[0]! : null);
  return only === null ? `in ${states.length === 0 ? 'several' : states.length} states` : statePlace(only);
}

function customerBody({ customer, came, stuckAt, leftAt, endedAt, endState, state, ...rest }: Member) {
  return {
    ...rest,
    state: { ...namedState(state) },
    came: isoTime(came),
    stuckAt: isoTime(stuckAt),
    endState: stateOrNull(endState),
    endedAt: isoTimeOrNull(endedAt),
  };
}

const COLUMNS = 'site,purchaseId,reference,orderReference,price,currency,state,came,stuckAt,outcome,endState,endedAt';

/** All customers of an incident as lines, under a line with the names of the columns. */
export function aftermathCsv({ data }: Awaited<ReturnType<typeof readAftermath>>): string {
  const lines = data.map((each) =>
    csvLine([
      each.site,
      each.purchaseId,
      each.reference,
      each.orderReference,
      each.price,
      each.currency,
      each.state.name,
      each.came,
      each.stuckAt,
      each.outcome,
      each.endState?.name ?? null,
      each.endedAt,
    ]),
  );
  return [COLUMNS, ...lines].map((line) => `${line}\r\n`).join('');
}
