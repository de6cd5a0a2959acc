/** The list of everything that needs a person, and below it the incidents that end by themselves. */

import type { ListedIncidentBody } from '../../../api/incidents/fields.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon, type Shape } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { comingEnd } from '../../parts/incidents.ts';
import { panel, written } from '../../parts/lists.ts';
import { since } from '../../parts/time.ts';
import { moneyWaiting } from '../incidents/money.ts';

type Need = OverviewBody['headline']['needs'][number];

/** So many stand open; a person who has these to do needs the rest later. */
const MOST_OPEN = 12;

/** The mark of a kind of need; others have that of their severity. */
const SHAPES: Readonly<Partial<Record<Need['kind'], Shape>>> = { subscriber: 'paused', stuck: 'stuck' };

export function needShape({ kind, severity }: Pick<Need, 'kind' | 'severity'>): Shape {
  return severity === 'critical' ? 'critical' : (SHAPES[kind] ?? severity);
}

/** The list of needs; nothing while nothing needs a person. */
export function needList(needs: readonly Need[], incidents: readonly ListedIncidentBody[], ask: Ask): Html {
  if (needs.length === 0) return NOTHING;
  const item = (need: Need, place: number): Html => {
    const incident = incidents.find(({ id }) => id === need.incident);
    return needItem(need, incident, { isFirst: place === 0, ask });
  };
  return panel({
    id: 'needs',
    title: 'What needs somebody',
    note: 'the worst first; it is empty when nothing does',
    body: firstOf(needs.map(item), 'more-needs'),
  });
}

function firstOf(items: readonly Html[], id: string): Html {
  const rest = items.slice(MOST_OPEN);
  const more =
    rest.length !== 0 &&
    html`<details class="same" id="${id}"><summary>${counted(rest.length, 'more thing', 'more things')}</summary><ul class="needs">${rest}</ul></details>`;
  return html`<ul class="needs" data-still="looked-at">${items.slice(0, MOST_OPEN)}</ul>${more}`;
}

function needItem(
  need: Need,
  incident: ListedIncidentBody | undefined,
  { isFirst, ask: { base, now, mayOperate } }: { isFirst: boolean; ask: Ask },
): Html {
  const { about, kind, severity, text, why, since: from, todo, action } = need;
  const to = `${base}${action.path}`;
  const shape = needShape(need);
  const long = from !== null && html`<span>For ${since(from, now)}.</span> `;
  const label = mayOperate ? action.label : 'Look';
  // The advice about an incident is on the incident's page, which knows more of it.
  const advice = kind !== 'incident' && html`<p class="small"><bdi>What to do: ${todo.replace(/\.$/, '')}.</bdi></p>`;
  return html`<li id="row-${rowId(about, kind)}">${icon(shape, shape)}<div class="what"><a href="${to}"><span class="vh">${severity}: </span><bdi>${tied(text)}</bdi></a><p>${long}${why !== null && html`<bdi>${tied(why)}.</bdi> `}${incident !== undefined && figures(incident)}</p>${advice}</div><div class="act"><a class="btn${isFirst ? ' first' : ''}" href="${to}">${label}<span class="vh">: ${text}</span></a></div></li>`;
}

/** Stable over refreshes: `incident-inc_41`. Two needs of a kind are about two things. */
function rowId(about: string, kind: string): string {
  return `${kind}-${about.replace(/^\w+ /, '')}`.replaceAll(/[^\w.-]/g, '_');
}

function figures({ count, peak, money, alarm }: ListedIncidentBody): Html {
  const most = peak > count ? `${number(count)} now, ${number(peak)} at the worst. ` : '';
  const isKnown = money !== null && count > 0 && money.waiting.length + money.unpriced > 0;
  const waits = isKnown && html`<span class="money">Money waiting: ${moneyWaiting(money)}.</span> `;
  const usual =
    alarm === null
      ? ''
      : `${alarm.overdue} of ${alarm.entrants} were stuck when it began, usually ${Math.round(alarm.usualShare * 1_000) / 10} in 100.`;
  return html`${most}${waits}${tied(usual)}`;
}

/** Incidents in which nothing is wrong any more. */
export function endingList(incidents: readonly ListedIncidentBody[], { base, now }: Ask): Html {
  const ending = incidents.filter(({ endsAt, parent }) => endsAt !== null && parent === null);
  if (ending.length === 0) return NOTHING;
  const item = ({ id, where, what, endsAt, endsUnless, owner }: ListedIncidentBody): Html =>
    html`<li id="row-ending-${id}">${icon('waiting', 'waiting')}<div class="what"><a href="${base}/incidents/${id}"><bdi>${where}: ${tied(what)}</bdi></a><p>It ${comingEnd({ endsAt, endsUnless }, now)}. ${owner === null ? 'Not acknowledged' : html`Acknowledged by ${written(owner)}`}.</p></div></li>`;
  return panel({
    id: 'ending',
    title: 'Ending',
    note: 'nothing is wrong in them at the moment',
    body: firstOf(ending.map(item), 'more-ending'),
  });
}
