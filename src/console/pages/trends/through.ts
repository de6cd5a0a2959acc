/** Customers, share and waiting through time, with incidents, silences and marks in lanes above. */
import type { Trends } from '../../../actions/trends/trends.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import { panel } from '../../parts/lists.ts';
import { clockTime, dayName, dayTime, length } from '../../parts/time.ts';
import { countChart, shareChart, waitChart } from '../../pictures/trends/charts.ts';
import type { Happened, StackLane } from '../../pictures/trends/lanes.ts';
import { type Stack, stackPicture, wrapped } from '../../pictures/trends/stack.ts';
import { figure, listAddress, paidWords, percent, type ShownTrends } from './figures.ts';

/** Letters of a line beside a chart. */
const LINE = 20;

export function throughPanel(shown: ShownTrends): Html {
  const { trends } = shown;
  if (trends.total.customers === 0) return NOTHING;
  const stack: Stack = {
    from: Date.parse(trends.from),
    to: Date.parse(trends.to),
    lanes: lanesOf(shown),
    charts: chartsOf(shown),
    ...axisOf(trends),
    label: `Customers, share paid and time waiting through time, with ${counted(trends.incidents.length, 'incident')}, ${counted(trends.silences.length, 'silence')} and ${counted(trends.marks.length, 'mark')}`,
  };
  return panel({
    id: 'time',
    title: 'Through time',
    note: 'what happened stands behind all charts',
    right: html`<a href="#mark">Mark a moment</a>`,
    body: html`${stackPicture(stack)}${leftOut(trends)}${table(shown)}${happenedTable(stack.lanes)}`,
  });
}

function lanesOf({ ask: { base }, trends: { incidents, silences, marks, at, range } }: ShownTrends): StackLane[] {
  const span = (from: string, to: string | null): string =>
    `${dayTime(Date.parse(from))} to ${to === null ? 'now' : dayTime(Date.parse(to))}`;
  const isShort = range === '24h' || range === '7d';
  const happened = (
    { from, to, where, ...rest }: { from: string; to: string | null; where: string; kind: Happened['kind']; href: string },
    title: string,
  ): Happened => ({
    ...rest,
    from: Date.parse(from),
    to: Date.parse(to ?? at),
    words: isShort ? short(where, 34) : '',
    title: `${title}, ${span(from, to)}`,
  });
  const together =
    (noun: string, path: string) =>
    (some: readonly [Happened, ...Happened[]]): Happened => {
      const [from, to] = [some[0].from, Math.max(...some.map((each) => each.to))];
      const words = counted(some.length, noun);
      return {
        from,
        to,
        href: `${base}${path}`,
        words: isShort ? words : '',
        title: `${words}, ${dayTime(from)} to ${dayTime(to)}`,
        kind: (some.find(({ kind }) => kind === 'critical') ?? some[0]).kind,
      };
    };
  return [
    {
      name: 'Incidents',
      together: together('incident', '/incidents'),
      all: incidents.map(({ id, kind, site, state, severity, since, endedAt }) => {
        const what = kind === 'unreachable' ? 'no purchase read' : state === null ? 'several states' : stateWords(state.value);
        const where = `${site ?? 'several sites'}, ${what}`;
        return happened(
          { from: since, to: endedAt, where, kind: severity, href: `${base}/incidents/${id}` },
          `Incident, ${where}`,
        );
      }),
    },
    {
      name: 'Silences',
      together: together('silence', '/silences'),
      all: silences.map(({ site, state, reason, startsAt, endsAt }) => {
        const where = [site ?? 'all sites', state === null ? null : stateWords(state.value)]
          .filter((part) => part !== null)
          .join(', ');
        return happened(
          { from: startsAt, to: endsAt, where, kind: 'silence', href: `${base}/silences` },
          `Silence, ${where}: ${reason}`,
        );
      }),
    },
    {
      name: 'Marks',
      all: marks.map(({ text, site, at: moment }) => {
        const marked = Date.parse(moment);
        const title = `Mark, ${site ?? 'all sites'}: ${text}, ${dayTime(marked)}`;
        return { from: marked, to: marked, kind: 'mark', words: isShort ? short(text, 24) : '', title, href: null };
      }),
    },
  ];
}

function chartsOf(shown: ShownTrends): Stack['charts'] {
  const { range, counts, shares, waiting, countedSince, from, against } = shown.trends;
  // The time between a piece and the piece that it is compared with.
  const back = Date.parse(from) - Date.parse(against.from);
  const isCounted = (to: string): boolean => countedSince === null || Date.parse(to) - back > Date.parse(countedSince);
  const pieceName = (from: string): string =>
    range === '24h' || (range === '7d' && counts.length > shares.length) ? dayTime(Date.parse(from)) : dayName(Date.parse(from));
  const span = ({ from, to }: { from: string; to: string }) => ({ from: Date.parse(from), to: Date.parse(to) });
  const charts = [
    countChart(
      counts.map((piece) => ({
        ...span(piece),
        customers: piece.customers,
        paid: piece.paid,
        before: isCounted(piece.to) ? piece.before.customers : null,
        says: `${pieceName(piece.from)}: ${paidWords(piece)}`,
      })),
      [`${counts.length === shares.length ? 'a day' : 'an hour'}; green: paid,`, 'sand: not paid,', 'dashed: before'],
    ),
    shareChart(
      shares.map((piece) => ({
        ...span(piece),
        share: piece.share,
        before: piece.before.share,
        href: piece.gone > 0 ? null : listAddress(shown, { end: 'customer', from: piece.from, to: piece.to }),
        says: `${pieceName(piece.from)}: ${percent(piece.share)}, before ${percent(piece.before.share)}`,
      })),
      [range === '24h' ? 'every three hours;' : 'each day;', 'dashed: before'],
    ),
  ];
  if (waiting === null) return charts;
  const { site, state, limitMs, pieces } = waiting;
  const wait = waitChart(
    pieces.map(({ medianMs, p95Ms, ...piece }) => ({
      ...span(piece),
      medianMs,
      p95Ms,
      says: `${pieceName(piece.from)}: ${medianMs === null || p95Ms === null ? 'too few to say' : `half of them under ${length(medianMs)}, 95 % under ${length(p95Ms)}`}`,
    })),
    limitMs,
    wrapped(
      `${short(stateWords(state.value), 60)}, ${short(site, LINE)}: from half to 95 % of customers; dashed: limit ${length(limitMs)}`,
      LINE,
    ),
  );
  return [...charts, wait];
}

const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Words of the axis and lines through the charts: hours of a day, days of a week, weeks of longer times. */
function axisOf({ range, shares }: Trends): Pick<Stack, 'ticks' | 'lines'> {
  const starts = shares.map(({ from }) => Date.parse(from));
  const every = { '24h': 1, '7d': 1, '30d': 7, '90d': 14 }[range];
  const shown = shares.filter((_, at) => at % every === 0);
  const ticks = shown.map(({ from, to }) => {
    const [begin, end] = [Date.parse(from), Date.parse(to)];
    if (range === '24h') return { at: begin, word: clockTime(begin).slice(0, 5) };
    return { at: range === '7d' ? (begin + end) / 2 : begin, word: range === '7d' ? dayName(begin) : dayName(begin).slice(4) };
  });
  return { ticks, lines: starts.filter((_, at) => at > 0 && at % every === 0) };
}

function table(shown: ShownTrends): Html {
  const { range, shares, waiting } = shown.trends;
  const rows = shares.map(({ from, to, customers, paid, share, gone, before }, at) => {
    const name = range === '24h' ? dayTime(Date.parse(from)) : dayName(Date.parse(from));
    const { medianMs = null, p95Ms = null } = waiting?.pieces[at] ?? {};
    const time = (ms: number | null): string => (ms === null ? 'too few' : length(ms));
    const figures = figure(shown, { end: 'customer', from, to }, { count: customers, gone });
    return html`<tr><th scope="row">${name}</th><td class="num">${figures}</td><td class="num">${number(paid)}</td><td class="num">${percent(share)}</td><td class="num">${percent(before.share)}</td>${waiting !== null && html`<td class="num">${time(medianMs)}</td><td class="num">${time(p95Ms)}</td>`}</tr>`;
  });
  const heads =
    waiting !== null && html`<th scope="col" class="num">Half waited under</th><th scope="col" class="num">95 % under</th>`;
  return html`<details class="same" id="time-table"><summary>The same as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="Through time as a table"><table><thead><tr><th scope="col">${range === '24h' ? 'From' : 'Day'}</th><th scope="col" class="num">Customers</th><th scope="col" class="num">Paid</th><th scope="col" class="num">Share</th><th scope="col" class="num">Before</th>${heads}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

/** An empty part of a lane must not look as if nothing had happened there. */
const leftOut = ({ listedSince }: Trends): Html | false =>
  listedSince !== null &&
  html`<p class="small">More happened than is shown: incidents, silences and marks from before ${dayTime(Date.parse(listedSince))} may be left out.</p>`;

/** Incidents, silences and marks in words: in the picture most of them have none. */
function happenedTable(lanes: readonly StackLane[]): Html {
  const all = lanes.flatMap((lane) => lane.all).sort((a, b) => a.from - b.from);
  if (all.length === 0) return NOTHING;
  const line = ({ title, href }: Happened): Html =>
    html`<li>${href === null ? title : html`<a href="${href}">${title}</a>`}</li>`;
  return html`<details class="same" id="time-happened"><summary>What happened in this time: ${number(all.length)}</summary><ul class="rows small happened">${all.map(line)}</ul></details>`;
}
