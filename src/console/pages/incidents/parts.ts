/** The states of sites that an incident is made of, each with its share, its money and its owner. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { panel } from '../../parts/lists.ts';
import { since, when } from '../../parts/time.ts';
import { shareBar } from '../../pictures/share.ts';
import { stuckQuery } from './customers.ts';
import { moneyWaiting } from './money.ts';

type Part = IncidentCustomersBody['places'][number];

/** The parts of an incident; nothing for one state of one site. */
export function parts({ places }: IncidentCustomersBody, ask: Ask): Html {
  if (places.length < 2) return NOTHING;
  const isOneState = new Set(places.map(({ state }) => state.value)).size === 1;
  const body = html`<table class="cards fits parts"><thead><tr><th scope="col">Site</th><th scope="col" class="num">Stuck</th><th scope="col">Share that did not get on</th><th scope="col">Waits</th></tr></thead>
<tbody data-still>${places.map((part) => row(part, isOneState, ask))}</tbody></table>`;
  const legend = html`<div class="legend"><span><i class="k stuck"></i>did not get on in time</span><span><i class="k tick"></i>usual</span></div>`;
  return panel({ id: 'parts', title: 'Its parts', note: 'people are alerted of all together', body, foot: legend });
}

function row(part: Part, isOneState: boolean, { base, now }: Ask): Html {
  const { id, site, state, count, peak, isOver, latest, money, acknowledged } = part;
  const stuck = isOver
    ? html`over`
    : html`<a href="${base}/purchases${stuckQuery(part)}"><b class="stuck">${number(count)}</b><span class="vh"> stuck at ${site}</span></a>`;
  // The whole note is on the part's page.
  const owner =
    acknowledged === null
      ? html`<small>not acknowledged</small>`
      : html`<small class="few-lines" title="${acknowledged.note ?? ''}">looked after by <bdi>${acknowledged.by}</bdi>, ${when(acknowledged.at, now)}${acknowledged.note !== null && html`: “<bdi>${acknowledged.note}</bdi>”`}</small>`;
  return html`<tr id="row-${id}"><th scope="row"><a href="${base}/incidents/${id}"><bdi>${site}</bdi></a><small>${!isOneState && html`<span title="${state.name}">${stateWords(state.value)}</span>, `}for ${since(part.since, now)}</small>${owner}</th>
<td class="num end">${stuck}<small>${number(peak)} at the worst</small></td>
<td class="full share">${latest === null || isOver ? html`<span class="mute">${isOver ? 'nobody is stuck now' : 'not known'}</span>` : html`${shareBar(latest, part.usualShare)}<small>${latest.overdue} of the latest ${latest.of}${usually(part)}</small>`}</td>
<td class="full" data-l="waits">${money === null ? html`<span class="mute">nothing</span>` : moneyWaiting(money)}</td></tr>`;
}

const usually = ({ usualShare }: Part): string =>
  usualShare === null ? '' : `; usually ${Math.round(usualShare * 1_000) / 10} in 100`;

/** The sites whose parts have an owner of their own: `shop-no`, `4 sites`; null when none has. */
export function ownedNames(places: readonly Part[]): string | null {
  const owned = places.filter(({ acknowledged, isOver }) => acknowledged !== null && !isOver);
  const sites = [...new Set(owned.map(({ site }) => site))];
  if (sites.length === 0 || places.length < 2) return null;
  return sites.length > 3 ? `${sites.length} sites` : sites.join(' and ');
}
