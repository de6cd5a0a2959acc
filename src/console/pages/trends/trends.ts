/** Trends: who paid over days beside the time before, where the others were lost, how long they waited, and what happened meanwhile. */

import type { Trends } from '../../../actions/trends/trends.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { RANGE_WORDS, TREND_RANGES, type TrendRange } from '../../../domain/trends/period.ts';
import { counted } from '../../../domain/values/counts.ts';
import { queryOf, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import type { Tried } from '../../parts/fields.ts';
import { alertNote } from '../../parts/lists.ts';
import { siteChoice } from '../../parts/sites.ts';
import { clockTime, dayName, dayTime, zoneName } from '../../parts/time.ts';
import { moneyText, type ShownTrends } from './figures.ts';
import { changeMarks, markDone, marksPanels, readMarks } from './marks.ts';
import { moneyPanel, receiversPanel } from './sums.ts';
import { throughPanel } from './through.ts';
import { waysPanel, worsePanel } from './ways.ts';
import { wherePanel } from './where.ts';

export const trendsPages = [
  page('/trends', (ask) => trendsView(ask, null)),
  action('/trends', (ask) => changeMarks(ask, (tried) => trendsView(ask, tried))),
];

/** `tried`: the form of a mark that was refused. */
async function trendsView(ask: Ask, tried: Tried | null): Promise<View> {
  const { range = '7d', site = '' } = ask.query;
  const view = { title: 'Trends', place: 'trends', crumb: 'Trends', isLive: false } as const;
  try {
    const [trends, marks, overview] = await Promise.all([
      ask.api.get<Trends>('/v1/trends', { range, site, zone: zoneName() }),
      readMarks(ask),
      ask.api.get<OverviewBody>('/v1/overview'),
    ]);
    const sites = overview.sites.filter(({ configured }) => configured).map((each) => each.site);
    const body = trendsBody({ ask, trends }, { marks, sites, tried });
    return { ...view, body, ...(tried !== null && { status: tried.refusal?.status ?? 400 }) };
  } catch (error) {
    // A person may have typed the range or the site into the address.
    const { message, status } = refusalIn(error);
    const body = html`<div class="head"><h1 class="say">The address asks for trends that there are not.</h1></div><div class="stack">${alertNote(message)}<p><a href="${ask.base}/trends">Show the last 7 days</a></p></div>`;
    return { ...view, body, status };
  }
}

function trendsBody(shown: ShownTrends, given: Parameters<typeof marksPanels>[1]): Html {
  const { trends, ask } = shown;
  const before = RANGE_WORDS[trends.range].before;
  const parts = [waysPanel(shown, before), throughPanel(shown)];
  return html`<div class="head"><h1 class="say">${tied(trends.sentence)}</h1>${moneySentence(trends)}${sinceNote(trends)}${choices(shown, given.sites)}</div>
<div class="stack">${markDone(shown, given.marks)}${wherePanel(shown)}${worsePanel(shown)}${trends.range === '90d' ? parts.toReversed() : parts}${moneyPanel(shown)}${receiversPanel(shown)}${marksPanels(shown, given)}${howPanel(ask)}</div>`;
}

/** An empty part of a chart must not look as if no customer had come. */
const sinceNote = ({ countedSince }: Trends): Html | false =>
  countedSince !== null &&
  html`<p class="sub">Customers are counted since ${dayTime(Date.parse(countedSince))}: nothing is known of the time before.</p>`;

/** Money that was not paid, and the part of it whose customers had been stuck, in the currency of most customers. */
function moneySentence({ money }: Trends): Html | false {
  const [most, ...others] = money;
  if (most === undefined) return false;
  const { currency, notPaid, stuck } = most;
  const more = others.length > 0 && html` <a href="#money">${counted(others.length, 'more currency', 'more currencies')}</a>`;
  return html`<p class="sub">Not paid in all: ${moneyText(notPaid, currency)}. Of customers who waited beyond a limit, ${moneyText(stuck.notPaid, currency)} was not paid, ${moneyText(stuck.paid, currency)} was paid late and ${moneyText(stuck.paidByAnother, currency)} by another purchase of the order.${more}</p>`;
}

function choices({ trends, ask }: ShownTrends, sites: readonly string[]): Html {
  const { range, site, from, to } = trends;
  const link = (each: TrendRange): Html =>
    html`<a id="range-${each}" href="${ask.base}/trends${queryOf({ range: each, site })}"${each === range && html` aria-current="true"`}>${each.replace(/(?=[hd]$)/, ' ')}</a>`;
  return html`<div class="range-row"><nav class="seg" aria-label="Length of time">${TREND_RANGES.map(link)}</nav>${siteChoice({ site, sites, path: `${ask.base}/trends`, id: 'trends', label: 'Site', keep: { range } })}<span>${timeWords(range, Date.parse(from), Date.parse(to))}, against ${RANGE_WORDS[range].before}</span></div>`;
}

function timeWords(range: TrendRange, from: number, to: number): string {
  if (range === '24h') return `${dayName(from)} ${clockTime(from).slice(0, 5)} to ${dayName(to)} ${clockTime(to).slice(0, 5)}`;
  return `${dayName(from)} to ${dayName(to - 1)}; today is not over and left out`;
}

function howPanel({ base }: Ask): Html {
  return html`<section class="panel"><details id="how"><summary>How this is reckoned</summary><div class="body stack"><p class="cause">A customer counts once, in the hour in which the end was seen. A purchase that the customer followed with another one of the same order counts with that one. <b>Paid</b>: completed, or handed to an external payment method; <b>late</b>: after a poll found it stuck. <b>Not paid</b>: any other final state. <b>Still open</b>: the daemon stopped polling before an end. Purchases that are still watched are not in here yet.</p>
<p class="cause">A change is named when chance alone would make it in fewer than one of a hundred cases, and of several ways more rarely. Under 30 customers nothing is said. Times are ends of steps that are 19 % apart.</p>
<p class="cause">Counts are kept for <code>store.retention.trends</code>, 400 days unless set. A figure has no link when some of its purchases were deleted since. <a href="${base}/docs/http-api.html#trends">The same for programs</a>, and as <code>purchase-watch trends</code>.</p></div></details></section>`;
}
