/** The aftermath of an incident: the bill, how fast it went, every customer, and the story as text to forward. */
import type { AftermathBody } from '../../../api/incidents/aftermath.ts';
import type { IncidentDetailsBody } from '../../../api/incidents/fields.ts';
import { MEMBER_OUTCOMES, type MemberOutcome } from '../../../domain/trends/aftermath.ts';
import { aftermathText, isBeyondUsual, nearestMarks, rangeText, roughly } from '../../../domain/trends/aftermath-words.ts';
import { apart, counted } from '../../../domain/values/counts.ts';
import { queryOf } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { type Fact, facts, factsPanel, nothingHere, panel } from '../../parts/lists.ts';
import { purchasePath } from '../../parts/purchases.ts';
import { clockTime, dayName, dayTime, exactTime, length, momentTime, when, zoneName } from '../../parts/time.ts';
import { lanesPicture, OUTCOME_WORDS } from './aftermath-picture.ts';
import { answered } from './care.ts';

export const aftermathPages = [page('/incidents/:id/aftermath', aftermathView)];

const ROWS = 50;

async function aftermathView(ask: Ask): Promise<View> {
  const { api, base, params } = ask;
  const path = `/incidents/${encodeURIComponent(params.id ?? '')}`;
  const [incident, body] = await Promise.all([
    api.get<IncidentDetailsBody>(`/v1${path}`),
    api.get<AftermathBody>(`/v1${path}/aftermath`),
  ]);
  const crumb = html`<a href="${base}/incidents">Incidents</a> / <a class="id" href="${base}${path}">${body.id}</a> / Aftermath`;
  const known = body.customers.stuck > 0;
  const parts = known
    ? html`<div class="two">${bill(body, ask)}<div class="stack">${answered(incident, ask)}${speed(body)}${nearby(body)}</div></div>${lanes(body, ask)}${everybody(body, ask)}`
    : panel({
        id: 'bill',
        title: 'What the incident cost',
        body: nothingHere(NO_CUSTOMERS[incident.kind === 'stuck' ? 'stuck' : 'other']),
      });
  return {
    title: `${body.where}: aftermath`,
    place: 'incidents',
    isLive: false,
    body: html`${head(body, `${base}${path}`)}<div class="stack incident">${parts}${asText(body)}</div>`,
    crumb,
  };
}

const NO_CUSTOMERS = {
  stuck: 'Who was in it is not kept: it ended before this version, or so long ago that it was deleted.',
  other: 'Aftermaths are of incidents in which customers get stuck.',
};

function head({ times, sentence, facts: says, customers, isComplete }: AftermathBody, path: string): Html {
  const { ended, noticed } = times;
  const state =
    ended === null
      ? status('waiting', html`<span>it is still open: these are the figures so far</span>`)
      : status('ok', html`<span>ended ${exactTime(Date.parse(ended))}, was open for ${span(noticed, ended)}</span>`);
  const open =
    customers.watched > 0 ? ` The figures change until the ${counted(customers.watched, 'customer')} still open have ended.` : '';
  const part = isComplete ? '' : ' More than 5 000 purchases were in it: these are the figures of the first of them.';
  return html`<div class="head">${state}<h1 class="say">${tied(sentence)}</h1><p class="sub">${tied(`${says}${open}${part}`)}</p>
<div class="acts"><button class="btn first" type="button" data-copy="as-text">Copy as text</button>${customers.stuck > 0 && html`<a class="btn" href="${path}/aftermath.csv" download>CSV of all ${number(customers.stuck)}</a>`}<a class="btn" href="${path}">The incident</a></div></div>`;
}

/** The list on this page that a number stands for. */
const listOf = ({ base, params }: Ask, outcome: string | null, from: number | null = null): string =>
  `${base}/incidents/${encodeURIComponent(params.id ?? '')}/aftermath${queryOf({ outcome, from })}#everybody`;

/** A row of the bill: what, how many customers, their money by currency, and the share of what waited. */
interface BillRow {
  readonly what: string;
  readonly small?: string;
  readonly count: number;
  readonly outcomes: readonly MemberOutcome[];
  readonly kind: 'stuck' | 'wonBack' | 'notPaid' | 'open';
}

function bill(body: AftermathBody, ask: Ask): Html {
  const { customers, money, unpriced, loss, reckoning } = body;
  const { stuck, paid, paidByAnother, notPaid, open, watched } = customers;
  const rows: BillRow[] = [
    { what: 'Waited beyond the limit', count: stuck, outcomes: [], kind: 'stuck' },
    {
      what: 'Paid in the end',
      small: wonBack(customers),
      count: paid + paidByAnother,
      outcomes: ['paid', 'paid_by_another'],
      kind: 'wonBack',
    },
    { what: 'Not paid', count: notPaid, outcomes: ['not_paid'], kind: 'notPaid' },
    { what: 'Still open', small: openText(open, watched), count: open, outcomes: ['open'], kind: 'open' },
  ];
  const rowOf = ({ what, small, count, outcomes, kind }: BillRow): Html =>
    html`<tr><th scope="row">${what}${small && html`<small>${small}</small>`}</th><td class="num" data-l="customers">${count === 0 ? '0' : html`<a href="${listOf(ask, outcomes.join() || null)}">${number(count)}</a>`}</td><td class="num" data-l="money">${money.map((each) => html`<span class="line">${tied(`${apart(each[kind])} ${each.currency}`)}</span>`)}</td><td class="pic">${share(count / Math.max(stuck, 1), kind)}</td></tr>`;
  const total = loss !== null && lossRow(loss);
  return panel({
    id: 'bill',
    title: 'What the incident cost',
    ...(unpriced > 0 && { note: `${counted(unpriced, 'customer')} without a known amount` }),
    body: html`<table class="bill cards"><thead><tr><th scope="col">What</th><th scope="col" class="num">Customers</th><th scope="col" class="num">Money</th><th scope="col">Of those who waited</th></tr></thead><tbody>${rows.map(rowOf)}${total}</tbody></table>`,
    foot: html`<details class="quiet"><summary>How it is reckoned</summary><p class="body">${tied(reckoning)} Customers who saw the broken page and left before they were registered are not known here.</p></details>`,
  });
}

const wonBack = ({ paid, paidByAnother }: AftermathBody['customers']): string =>
  [
    ...(paid > 0 ? [`${number(paid)} paid late`] : []),
    ...(paidByAnother > 0 ? [`${number(paidByAnother)} by another purchase`] : []),
  ].join(', ');

function openText(open: number, watched: number): string {
  if (open === 0) return '';
  const unknown = open - watched;
  if (unknown === 0) return 'known when they end';
  return `${watched === 0 ? '' : `${number(watched)} known when they end, `}${number(unknown)} not watched any more`;
}

function share(part: number, kind: BillRow['kind']): Html {
  return html`<svg class="range" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><path class="c-grid" d="M0 5H100"/><rect class="b-${kind}" y="2" width="${Math.round(part * 1_000) / 10}" height="6"/></svg>`;
}

function lossRow(loss: NonNullable<AftermathBody['loss']>): Html {
  const { customers, money } = loss;
  const usual = !isBeyondUsual(loss);
  const sums = money.map(
    (each) =>
      html`<span class="line">${tied(`about ${roughly(each.about)} ${each.currency}`)}</span><small>${tied(rangeText(each))}</small>`,
  );
  return html`<tr class="total"><th scope="row">Lost beyond what is usual<small>${usual ? 'no more were lost than usual' : 'some customers leave on any day: those of the usual share are not counted'}</small></th><td class="num" data-l="customers">about ${number(Math.round(customers.about))}<small>${tied(rangeText(customers))}</small></td><td class="num" data-l="money">${sums}</td><td class="pic"></td></tr>`;
}

const span = (from: string, to: string): string => length(Math.max(Date.parse(to) - Date.parse(from), 0));
const moment = (iso: string): Html => momentTime(Date.parse(iso), 0);

function speed({ times }: AftermathBody): Html {
  const { firstCame, firstStuck, noticed, acknowledged, acknowledgedBy, ended } = times;
  const facts: Fact[] = [
    firstCame !== null && ['First came', moment(firstCame)],
    firstStuck !== null && ['First got stuck', moment(firstStuck)],
    [
      'Noticed',
      html`${moment(noticed)}${firstStuck !== null && html`<small>${span(firstStuck, noticed)} after the first got stuck</small>`}`,
    ],
    [
      'Acknowledged',
      acknowledged === null
        ? 'by nobody'
        : html`${moment(acknowledged)}${acknowledgedBy !== null && html` by <bdi>${acknowledgedBy}</bdi>`}<small>${span(noticed, acknowledged)} after that</small>`,
    ],
    ended !== null && ['Ended', html`${moment(ended)}<small>${span(firstCame ?? noticed, ended)} after the first came</small>`],
  ];
  return factsPanel('speed', 'How fast it went', facts);
}

/** The marks as instants: those near the first customer before the others. */
const marksOf = ({ marks, times }: AftermathBody) => ({
  first: Date.parse(times.firstCame ?? times.noticed),
  marks: marks.map(({ at, ...mark }) => ({ ...mark, at: Date.parse(at) })),
});

function nearby(body: AftermathBody): Html {
  const { first, marks } = marksOf(body);
  if (marks.length === 0) return NOTHING;
  const { near, others } = nearestMarks(marks, first);
  const factOf = ({ at, text, site }: (typeof marks)[number]): Fact => [
    dayName(at) === dayName(first) ? clockTime(at) : dayTime(at),
    html`<bdi>${text}</bdi><small><bdi>${site ?? 'all sites'}</bdi>, ${length(Math.abs(at - first))} ${at < first ? 'before' : 'after'} the first came</small>`,
  ];
  const more =
    others.length > 0 &&
    html`<details class="quiet" id="more-marks"><summary>${counted(others.length, 'more mark')}</summary>${facts(others.map(factOf))}</details>`;
  return panel({
    id: 'nearby',
    title: 'Marks nearby',
    body: html`<div class="body">${facts(near.map(factOf))}</div>`,
    foot: more,
  });
}

function lanes({ data, times, facts: says, worstAt }: AftermathBody, { base }: Ask): Html {
  const pins: [string | null, string][] = [
    [times.firstCame, 'first of them came'],
    [times.noticed, 'noticed'],
    [times.acknowledged, 'acknowledged'],
    [times.ended, 'ended'],
  ];
  const picture = lanesPicture({
    customers: data.map(({ came, outcome }) => ({ came: Date.parse(came), outcome })),
    pins: pins.flatMap(([at, word]) => (at === null ? [] : [{ at: Date.parse(at), word }])).sort((a, b) => a.at - b.at),
    label: `Each customer who got stuck, by when they came. ${says}`,
  });
  const note = 'each customer who got stuck, by when they came';
  return panel({
    id: 'lanes',
    title: 'From the first customer to the end',
    note,
    body: html`<figure class="fig body">${picture}</figure>`,
    foot: worstAt !== null && worstLink(worstAt, base),
  });
}

/** The page of Then at the moment of most stuck at once. */
function worstLink(worstAt: string, base: string): Html {
  const at = Date.parse(worstAt);
  return html`<a href="${base}/?at=${worstAt.slice(0, 16)}Z">Now as it was at ${dayName(at)} ${clockTime(at).slice(0, 5)}, when most customers waited</a>`;
}

function everybody({ data, customers }: AftermathBody, ask: Ask): Html {
  const asked = (ask.query.outcome ?? '').split(',');
  const chosen = MEMBER_OUTCOMES.filter((each) => asked.includes(each));
  const rows = chosen.length === 0 ? data : data.filter(({ outcome }) => chosen.includes(outcome));
  const from = Math.min(Math.max(Math.trunc(Number(ask.query.from ?? 0)) || 0, 0), Math.max(rows.length - 1, 0));
  const shown = rows.slice(from, from + ROWS);
  const outcome = chosen.join() || null;
  const counts: Readonly<Record<MemberOutcome, number>> = {
    paid: customers.paid,
    paid_by_another: customers.paidByAnother,
    not_paid: customers.notPaid,
    open: customers.open,
  };
  const chip = (each: MemberOutcome | null, words: string, count: number): Html =>
    html`<a class="chip" href="${listOf(ask, each)}"${outcome === each && html` aria-current="true"`}>${words} ${number(count)}</a>`;
  const chips = MEMBER_OUTCOMES.filter((each) => counts[each] > 0 || chosen.includes(each));
  const places = new Set(data.map(({ site }) => site)).size;
  const table =
    shown.length === 0
      ? nothingHere('None of them ended so.')
      : html`<table class="cards people"><thead><tr><th scope="col">Order</th><th scope="col" class="num">Amount</th><th scope="col" class="num">Came</th><th scope="col">What became of it</th></tr></thead><tbody>${shown.map((each) => row(each, { ask, isOneSite: places === 1 }))}</tbody></table>`;
  const foot = html`<span>${number(Math.min(from + 1, rows.length))} to ${number(from + shown.length)} of ${number(rows.length)} shown</span>${from > 0 && html`<a href="${listOf(ask, outcome, Math.max(from - ROWS, 0) || null)}">Before</a>`}${from + ROWS < rows.length && html`<a href="${listOf(ask, outcome, from + ROWS)}">Next</a>`}`;
  return panel({
    id: 'everybody',
    title: 'Everybody in it',
    note: `${counted(customers.stuck, 'customer')}, first come first`,
    body: html`<nav class="filters outcomes" aria-label="What became of them">${chip(null, 'all', customers.stuck)}${chips.map((each) => chip(each, OUTCOME_WORDS[each], counts[each]))}</nav>${table}`,
    foot,
  });
}

function row(customer: AftermathBody['data'][number], { ask, isOneSite }: { ask: Ask; isOneSite: boolean }): Html {
  const { purchaseId, site, reference, orderReference, price, currency, came } = customer;
  const order = reference ?? orderReference;
  const name =
    purchaseId === null
      ? html`<span class="mute">deleted since</span>`
      : html`<a class="ord" href="${ask.base}${purchasePath({ site, purchaseId })}"><bdi class="few-lines" title="${order ?? purchaseId}">${order ?? purchaseId}</bdi></a>`;
  const amount =
    price === null ? html`<span class="mute">not known</span>` : html`<b>${tied(`${apart(price)} ${currency ?? ''}`)}</b>`;
  return html`<tr><th scope="row">${name}${!isOneSite && html`<small><bdi>${site}</bdi></small>`}</th><td class="num end">${amount}</td><td class="num end" data-l="came">${moment(came)}</td><td class="full">${became(customer, ask)}</td></tr>`;
}

function became({ outcome, endState, endedAt, isWatched }: AftermathBody['data'][number], { now }: Ask): Html {
  const at = endedAt === null ? NOTHING : html` ${when(endedAt, now)}`;
  if (outcome === 'not_paid')
    return status('final', html`<span>not paid${endState !== null && `: ${endState.name}`}${at}</span>`);
  if (outcome === 'open')
    return status('waiting', html`<span>${isWatched ? 'still open' : 'not known: not watched any more'}</span>`);
  return status('ok', html`<span>${OUTCOME_WORDS[outcome]}${at}</span>`, 'paid');
}

function asText(body: AftermathBody): Html {
  const instant = (iso: string | null): number | null => (iso === null ? null : Date.parse(iso));
  const { firstCame, firstStuck, noticed, acknowledged, ended } = body.times;
  const times = {
    firstCame: instant(firstCame),
    firstStuck: instant(firstStuck),
    noticed: Date.parse(noticed),
    acknowledged: instant(acknowledged),
    ended: instant(ended),
  };
  const writes = {
    clock: (at: number) => clockTime(at).slice(0, 5),
    day: (at: number) => exactTime(at).slice(0, 10),
    zone: zoneName(),
  };
  return panel({
    id: 'text',
    title: 'As text',
    note: 'for a mail; no ids of customers',
    right: html`<button class="btn" type="button" data-copy="as-text">Copy<span class="vh"> the text</span></button>`,
    body: html`<div class="body"><pre class="text" id="as-text" tabindex="0">${aftermathText({ ...body, ...marksOf(body), bill: body, times }, writes)}</pre></div>`,
  });
}
