/** The customers of an incident of stuck purchases: how their share went over time, and what each of them is now. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentDetailsBody } from '../../../api/incidents/fields.ts';
import { LEFT_OUTCOMES, type LeftOutcome } from '../../../domain/incidents/customers.ts';
import { statePlace } from '../../../domain/purchases/states.ts';
import { queryOf } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import { type Shape, status } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { clockTime, since, when } from '../../parts/time.ts';
import { sharePicture } from '../../pictures/share.ts';
import { customerRow, type Shown } from './customer-row.ts';

/** More are shown when a person asks for them. */
const MOST_SHOWN = 25;

/** The picture; nothing for incidents of several states or sites, whose parts have one each. */
export function share({ alarm, state, where }: IncidentDetailsBody, { came }: IncidentCustomersBody): Html {
  if (came === null) return NOTHING;
  const last = came.share.at(-1);
  const known =
    last === undefined ? 'No outcome is known from this time.' : `${last.overdue} of the latest ${last.of} customers got stuck.`;
  const marks = alarm === null ? null : { first: Date.parse(alarm.since), noticed: Date.parse(alarm.at) };
  const label = `Share of customers who got stuck, from ${clockTime(Date.parse(came.from))} to ${clockTime(Date.parse(came.until))}. ${known}${marks === null ? '' : ` The first of them came at ${clockTime(marks.first)}; it was noticed at ${clockTime(marks.noticed)}.`}`;
  const missing =
    !came.isComplete &&
    html`<p class="small">Only the purchases registered last in this time are drawn: there are too many to draw all.</p>`;
  return panel({
    id: 'share',
    title: 'Share of customers who did not get on in time',
    note: `of the latest 20 ${state === null ? 'in the state' : statePlace(state.value)}, ${where}`,
    body:
      came.stays.length === 0
        ? nothingHere('No purchase that came in this time is kept any more.')
        : html`<figure class="fig body">${sharePicture({ came, marks, usual: alarm?.usualShare ?? null, label })}${missing}</figure>`,
  });
}

const OUTCOMES: Readonly<Record<LeftOutcome, readonly [chip: string, words: string, kind: Shape, shape: Shape]>> = {
  late: ['paid late', 'paid late', 'ok', 'paid'],
  other: ['paid by another purchase', 'paid by another purchase', 'ok', 'paid'],
  lost: ['not paid', 'not paid', 'final', 'final'],
  open: ['not decided', 'left; not decided yet', 'waiting', 'waiting'],
};

/** The customers whom a person chose to see: those who are stuck, or those who left in one way; undefined: all. */
export function chosenOutcome({ query }: Ask): 'stuck' | LeftOutcome | undefined {
  return (['stuck', ...LEFT_OUTCOMES] as const).find((each) => each === query.outcome);
}

/** All customers of an incident: who waits longest first, then those who left. */
export function customers(incident: IncidentDetailsBody, body: IncidentCustomersBody, ask: Ask): Html {
  const { counted, left, atLeast } = body;
  const { endedAt, site, state } = incident;
  const gone = LEFT_OUTCOMES.reduce((sum, each) => sum + left.counts[each], 0);
  if (counted + gone === 0) return nobody(endedAt === null);
  const chosen = chosenOutcome(ask);
  const rows = rowsOf(body, chosen, ask);
  const total = chosen === undefined ? counted + gone : chosen === 'stuck' ? counted : left.counts[chosen];
  const shown = ask.query.show === 'more' ? rows : rows.slice(0, MOST_SHOWN);
  const of = { isOneSite: site !== null, isOneState: state !== null, ask };
  const table = html`<table class="cards fits people"><thead><tr><th scope="col">Order</th><th scope="col" class="num">Amount</th><th scope="col">Is now</th><th scope="col" class="num">Came</th></tr></thead>
<tbody data-still>${shown.map((each) => customerRow(each, of))}</tbody></table>`;
  const more = rows.length > shown.length && html`<a href="${address(ask, chosen, true)}">Show ${number(rows.length)}</a>`;
  const most = atLeast ? ' or more' : '';
  return panel({
    id: 'customers',
    title: 'Customers in it',
    note: counted === 0 ? 'nobody is stuck now' : `${number(counted)}${most} stuck now, the longest waiting first`,
    ...(counted > 0 && { right: allStuck(incident, ask) }),
    body: html`${chips(counted + gone, body, chosen, ask)}${table}`,
    ...(total > shown.length && { foot: html`<span>${number(shown.length)} of ${number(total)}${most} shown</span>${more}` }),
  });
}

function nobody(isOpen: boolean): Html {
  const says = isOpen
    ? 'No purchase is stuck there now. It ends when that lasts.'
    : 'What became of its customers is not kept any more.';
  return panel({ id: 'customers', title: 'Customers in it', body: nothingHere(says) });
}

function rowsOf({ data, left }: IncidentCustomersBody, chosen: string | undefined, ask: Ask): Shown[] {
  return [
    ...(chosen === undefined || chosen === 'stuck' ? data.map((each) => stuckShown(each, ask)) : []),
    ...(chosen === 'stuck' ? [] : left.data.map((each) => leftShown(each, ask))),
  ];
}

function allStuck(incident: IncidentDetailsBody, { base }: Ask): Html {
  const isOne = incident.site !== null && incident.state !== null;
  return html`<a href="${base}/purchases${stuckQuery(incident)}">${isOne ? 'Open as a list' : 'All stuck purchases'}</a>`;
}

/** The list of purchases that a number of stuck customers stands for. */
export function stuckQuery(place: { readonly site: string | null; readonly state: { readonly name: string } | null }): string {
  return queryOf({ stuck: true, site: place.site, state: place.state?.name });
}

function address({ base, params }: Ask, outcome: string | undefined, isMore = false): string {
  return `${base}/incidents/${encodeURIComponent(params.id ?? '')}${queryOf({ outcome, show: isMore ? 'more' : null })}#customers`;
}

function chips(all: number, { counted, atLeast, left }: IncidentCustomersBody, chosen: string | undefined, ask: Ask): Html {
  const chip = (outcome: string | undefined, word: string, count: number, isLeast: boolean): Html =>
    html`<a class="chip" href="${address(ask, outcome)}"${chosen === outcome && html` aria-current="true"`}>${word} ${number(count)}${isLeast ? ' or more' : ''}</a>`;
  const ways = LEFT_OUTCOMES.filter((each) => left.counts[each] > 0 || chosen === each);
  if (ways.length === 0) return NOTHING;
  return html`<nav class="filters outcomes" aria-label="What became of them">${chip(undefined, 'all', all, atLeast || left.atLeast)}${chip('stuck', 'still stuck', counted, atLeast)}${ways.map((each) => chip(each, OUTCOMES[each][0], left.counts[each], left.atLeast))}</nav>`;
}

function stuckShown(purchase: IncidentCustomersBody['data'][number], { now }: Ask): Shown {
  const { stateSince, stuckSince } = purchase;
  return { purchase, is: status('stuck', html`<span>stuck for ${since(stuckSince, now)}</span>`), came: when(stateSince, now) };
}

function leftShown(purchase: IncidentCustomersBody['left']['data'][number], { now }: Ask): Shown {
  const [, words, kind, shape] = OUTCOMES[purchase.outcome];
  return { purchase, is: status(kind, html`<span>${words}, ${when(purchase.at, now)}</span>`, shape), came: NOTHING };
}
