/** Where and when customers were lost: the share paid by hour, of each day, weekday or state. */
import type { Trends } from '../../../actions/trends/trends.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { type Html, html } from '../../frame/html.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { clockTime, dayName, WEEKDAYS } from '../../parts/time.ts';
import { type HeatCell, type HeatRow, heatLegend, heatMap } from '../../pictures/trends/heat-map.ts';
import { listAddress, type ShownTrends } from './figures.ts';

const HOURS = 24;

/** A cell of one hour, with what is needed to put several together. */
interface HourCell {
  readonly customers: number;
  readonly paid: number;
  readonly gone: number;
  readonly inIncident: boolean;
  /** Of many days together: customers who did not pay while an incident was open. */
  readonly notPaidInIncidents?: number;
}
const EMPTY: HourCell = { customers: 0, paid: 0, gone: 0, inIncident: false };

interface Row {
  readonly head: Html | string;
  /** In words for titles: `Wed 18 Nov`. */
  readonly name: string;
  readonly hours: readonly HourCell[];
  /** The address of the list of purchases that ended in `count` hours of the day, of which `first` is the first. */
  readonly list: (first: number, count: number) => string;
}

export function wherePanel(shown: ShownTrends): Html {
  const { range, total } = shown.trends;
  const rows = rowsOf(shown);
  const isOfDay = range === '24h';
  // Of 24 hours the columns begin with the first one; of days, with midnight.
  const first = isOfDay ? Number(clockTime(Date.parse(shown.trends.from)).slice(0, 2)) : 0;
  const isOfWeekdays = range === '30d' || range === '90d';
  const incidentWords = isOfWeekdays ? 'most of those who did not pay: while an incident was open' : 'an incident was open';
  const drawn = (per: number): Html =>
    heatMap({
      incidentWords,
      rows: rows.map((row) => merged(row, per, first)),
      columns: Array.from({ length: HOURS / per }, (_, at) => String((first + at * per) % HOURS)),
      rowHead: isOfDay ? 'Last waited' : 'Ended on',
      caption: `Share of customers who paid, in 100, by the hour in which their checkout ended`,
    });
  const hasIncidents = rows.some(({ hours }) => hours.some((hour) => hour.inIncident || isMostlyOfIncidents([hour])));
  const body =
    total.customers === 0
      ? nothingHere(
          "No customer's checkout ended in this time.",
          isOfDay
            ? 'Customers of this hour stand here once the hour is over.'
            : 'Customers of today stand here tomorrow; the last 24 hours show those of the hours before this one.',
        )
      : html`<div class="heat-wrap${isOfDay && ' ways'}"><div class="only-wide">${drawn(1)}</div><div class="only-narrow">${drawn(isOfDay ? 4 : 3)}</div>${heatLegend(hasIncidents ? incidentWords : null)}</div>`;
  const by = isOfDay ? 'by the state they last waited in and the hour' : 'by the hour';
  const weeks = isOfWeekdays ? ', all days of a weekday together' : '';
  return panel({
    id: 'where',
    title: 'Where and when fewer paid',
    note: `share paid, ${by} in which their checkout ended${weeks}`,
    body,
  });
}

function rowsOf(shown: ShownTrends): Row[] {
  const { range } = shown.trends;
  if (range === '24h') return stateRows(shown);
  return range === '7d' ? dayRows(shown) : weekdayRows(shown);
}

/** Days, hour by hour. */
function dayRows(shown: ShownTrends): Row[] {
  const { counts, shares, incidents, at } = shown.trends;
  return shares.map(({ from, to, gone }, day) => {
    const name = dayName(Date.parse(from));
    const pieces = counts.slice(day * HOURS, (day + 1) * HOURS);
    const list = (first: number, count: number): string =>
      listAddress(shown, {
        end: 'customer',
        from: pieces[first]!.from,
        to: pieces[Math.min(first + count, pieces.length) - 1]!.to,
      });
    return {
      name,
      head: gone === 0 ? html`<a href="${listAddress(shown, { end: 'customer', from, to })}">${name}</a>` : name,
      hours: pieces.map((piece) => ({ ...piece, inIncident: incidents.some((each) => overlaps(each, piece, at)) })),
      list,
    };
  });
}

/** States of the last 24 hours, hour by hour. */
function stateRows(shown: ShownTrends): Row[] {
  const { counts, cells, ways, incidents, at } = shown.trends;
  const hourAt = (from: string): number => Number(clockTime(Date.parse(from)).slice(0, 2));
  return ways.map(({ state, gone }) => {
    const own = new Map(cells.filter((cell) => cell.state?.value === state?.value).map((cell) => [cell.hour, cell]));
    const here = incidents.filter((each) => each.state === null || each.state.value === state?.value);
    const name = state === null ? 'no state seen' : stateWords(state.value);
    return {
      name,
      head:
        gone === 0
          ? html`<a href="${listAddress(shown, { end: 'customer', lastWaited: state })}"><span>${name}</span></a>`
          : html`<span>${name}</span>`,
      hours: counts.map((piece) => ({
        ...(own.get(hourAt(piece.from)) ?? EMPTY),
        inIncident: here.some((each) => overlaps(each, piece, at)),
      })),
      list: (first, count) =>
        listAddress(shown, {
          end: 'customer',
          lastWaited: state,
          from: counts[first]!.from,
          to: counts[Math.min(first + count, counts.length) - 1]!.to,
        }),
    };
  });
}

/** Weekdays of a longer time, hour by hour. */
function weekdayRows(shown: ShownTrends): Row[] {
  const { cells, zone } = shown.trends;
  return WEEKDAYS.map((name, at) => {
    const own = new Map(cells.filter(({ weekday }) => weekday === at + 1).map((cell) => [cell.hour, cell]));
    const hours = Array.from({ length: HOURS }, (_, hour): HourCell => ({ ...EMPTY, ...own.get(hour) }));
    const weekly = { end: 'customer', endedWeekday: at + 1, zone } as const;
    return {
      name,
      head: hours.some(({ gone }) => gone > 0) ? name : html`<a href="${listAddress(shown, weekly)}">${name}</a>`,
      hours,
      list: (first, count) =>
        listAddress(shown, { ...weekly, endedHours: count === 1 ? String(first) : `${first}-${first + count - 1}` }),
    };
  });
}

function overlaps(
  { since, endedAt }: Trends['incidents'][number],
  { from, to }: { from: string; to: string },
  now: string,
): boolean {
  return since < to && (endedAt ?? now) > from;
}

/** Whether half of those who did not pay, or more, did so while an incident was open. */
function isMostlyOfIncidents(hours: readonly HourCell[]): boolean {
  const sum = (of: (hour: HourCell) => number): number => hours.reduce((total, hour) => total + of(hour), 0);
  const lost = sum(({ notPaidInIncidents = 0 }) => notPaidInIncidents);
  return lost > 0 && 2 * lost >= sum(({ customers, paid }) => customers - paid);
}

/** A row whose cells are of so many hours each; `first`: the hour of its first cell. */
function merged({ head, name, hours, list }: Row, per: number, first: number): HeatRow {
  const cells = Array.from({ length: Math.ceil(hours.length / per) }, (_, at): HeatCell => {
    const part = hours.slice(at * per, (at + 1) * per);
    const sum = (key: 'customers' | 'paid' | 'gone'): number => part.reduce((total, hour) => total + hour[key], 0);
    const begin = (first + at * per) % HOURS;
    return {
      customers: sum('customers'),
      paid: sum('paid'),
      when: `${name}, ${begin} to ${begin + per} h`,
      inIncident: part.some(({ inIncident }) => inIncident) || isMostlyOfIncidents(part),
      href: sum('gone') > 0 ? null : list(at * per, per),
    };
  });
  return { head, cells };
}
