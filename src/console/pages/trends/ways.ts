/** Customers by how their checkouts ended and by the state in which they waited last, and the slices where fewer paid than before. */
import type { Trends } from '../../../actions/trends/trends.ts';
import { besideWords, stateWords } from '../../../domain/purchases/states.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { panel } from '../../parts/lists.ts';
import { type BarPart, partsBar } from '../../pictures/trends/bars.ts';
import { changeMark, figure, percent, type ShownTrends } from './figures.ts';

type Way = Trends['ways'][number];

/** `before`: the time compared with, in words. */
export function waysPanel(shown: ShownTrends, before: string): Html {
  const { ways, total } = shown.trends;
  if (ways.length === 0) return NOTHING;
  const most = Math.max(...ways.map(({ customers }) => customers));
  const by =
    total.paidByAnother === 0
      ? ''
      : ` ${number(total.paidByAnother)} more purchases are in no row: their customers paid with another purchase of the order, and are counted there.`;
  return panel({
    id: 'ways',
    title: 'What became of them',
    note: `by the state in which they waited last, against ${before}`,
    body: html`<table class="cards halves"><thead><tr><th scope="col">Waited last</th><th scope="col" class="num">Customers</th><th scope="col">Paid, paid late, not paid</th><th scope="col" class="num">Paid</th><th scope="col" class="num">Change</th><th scope="col" class="num">Got stuck</th><th scope="col" class="num">Not paid</th></tr></thead><tbody>${ways.map((way) => row(shown, way, most))}${allRow(shown)}</tbody></table>`,
    foot: html`<div class="legend"><span><i class="k paid"></i>paid</span><span><i class="k late"></i>paid late: after they were stuck</span><span><i class="k lost"></i>not paid</span><span><i class="k open"></i>still open when the daemon stopped polling</span><span><i class="k tick"></i>share paid in ${before}</span></div><span>“May be chance”: chance alone makes such a difference in more than one of a hundred cases.${by}</span>`,
  });
}

function row(shown: ShownTrends, way: Way, most: number): Html {
  const { state, customers, share, gone, stuck, notPaid, paid, paidLate, open, before } = way;
  const parts: BarPart[] = [
    ['paid', paid - paidLate],
    ['late', paidLate],
    ['lost', notPaid],
    ['open', open],
  ];
  const tick = before.share === null ? null : before.share * customers;
  const own = { lastWaited: state };
  const name = state === null ? 'no state seen' : stateWords(state.value);
  const beside = state === null ? 'before the first poll' : besideWords(state.value);
  return html`<tr><th scope="row">${figure(shown, { end: 'customer', ...own }, { count: customers, gone }, name)}${beside !== null && html`<small>${beside}</small>`}</th><td class="num" data-l="customers">${figure(shown, { end: 'customer', ...own }, { count: customers, gone })}</td><td class="pic">${partsBar(parts, most, tick)}</td><td class="num" data-l="paid">${share === null ? percent(share) : html`<b>${percent(share)}</b>`}</td><td class="num" data-l="change">${changeMark(way)}</td><td class="num" data-l="got stuck">${way.limited || stuck > 0 ? figure(shown, { end: 'customer', wasStuck: true, ...own }, { count: stuck, gone }) : html`<span class="mute">no limit</span>`}</td><td class="num" data-l="not paid">${figure(shown, { end: 'not_paid', ...own }, { count: notPaid, gone })}</td></tr>`;
}

function allRow(shown: ShownTrends): Html {
  const { total } = shown.trends;
  const { customers, share, gone, stuck, notPaid, paid, paidLate, open } = total;
  const late = paidLate === 0 ? '' : `, ${number(paidLate)} of them late`;
  const still = open === 0 ? '' : `, ${number(open)} still open`;
  return html`<tr class="all"><th scope="row">All</th><td class="num" data-l="customers">${figure(shown, { end: 'customer' }, { count: customers, gone })}</td><td class="pic"><small>${figure(shown, { end: 'paid' }, { count: paid, gone })} paid${late}${still}</small></td><td class="num" data-l="paid">${percent(share)}</td><td class="num" data-l="change">${changeMark(total)}</td><td class="num" data-l="got stuck">${figure(shown, { end: 'customer', wasStuck: true }, { count: stuck, gone })}</td><td class="num" data-l="not paid">${figure(shown, { end: 'not_paid' }, { count: notPaid, gone })}</td></tr>`;
}

/** Slices where fewer paid than before, in words. */
export function worsePanel(shown: ShownTrends): Html {
  const { worse, total } = shown.trends;
  if (total.customers === 0) return NOTHING;
  const row = ({ site, state, currency, where, words, customers, notPaid, gone }: Trends['worse']['slices'][number]): Html => {
    const own = { site, lastWaited: state, ...(currency !== null && { currency }) };
    const came = figure(shown, { end: 'customer', ...own }, { count: customers, gone });
    const lost = figure(shown, { end: 'not_paid', ...own }, { count: notPaid, gone });
    return html`<li><b>${where}</b>: ${tied(words)}; ${came} came, ${lost} did not pay.</li>`;
  };
  return panel({
    id: 'worse',
    title: 'Where fewer paid than before',
    note: 'by site, state waited in last and currency',
    body: html`<div class="body stack"><p class="cause">${tied(worse.words)}</p>${worse.slices.length > 0 && html`<ol class="worse">${worse.slices.map(row)}</ol>`}</div>`,
  });
}
