/** How everything is now: one sentence, the open incidents, the flow of purchases, polls and deliveries, and the health of each part. */
import type { ActivityMinute } from '../../../api/health/activity.ts';
import type { FlowBody } from '../../../api/health/flow.ts';
import type { OverviewBody } from '../../../api/health/overview.ts';
import type { ListedIncidentBody } from '../../../api/incidents/fields.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon, status, tag } from '../../frame/icons.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { comingEnd, shapeOf, worstFirst } from '../../parts/incidents.ts';
import { panel, written } from '../../parts/lists.ts';
import { length, since } from '../../parts/time.ts';
import { flowPicture } from '../../pictures/flow-model.ts';
import { moneyWaiting } from '../incidents/money.ts';
import { activityCharts, MINUTES_ASKED } from './charts.ts';
import { flowPanel, flowText } from './flow-panel.ts';
import { healthStrip } from './health.ts';

const MOST_SHOWN = 20;

export const nowPages = [
  page('/', async (ask) => {
    const { site = '' } = ask.query;
    const [overview, incidents, flow, activity] = await Promise.all([
      ask.api.get<OverviewBody>('/v1/overview'),
      ask.api.get<{ data: ListedIncidentBody[] }>('/v1/incidents', { status: 'open', limit: MOST_SHOWN }),
      ask.api.get<FlowBody>('/v1/flow', { site }),
      ask.api.get<{ minutes: ActivityMinute[] }>('/v1/activity', { site, minutes: MINUTES_ASKED }),
    ]);
    const sites = overview.sites.filter(({ configured }) => configured).map((each) => each.site);
    const open = incidents.data.filter(({ parent }) => parent === null).sort(worstFirst);
    const { title, text, severity } = overview.headline;
    const shape = severity === 'ending' ? 'waiting' : severity;
    const body = html`<div class="head"><h1 class="say" data-said>${shape === null ? NOTHING : icon(shape, `s-ico ${shape}`)}${tied(text)}</h1>${onlyTodo(overview)}<p class="sub">${tied(second(overview, flow))}</p></div>
<div class="stack">${needList(overview)}${open.map((incident) => incidentPanel(incident, ask))}${flowPanel(flow, sites, ask)}${activityCharts(activity.minutes, flow.site)}${healthStrip(overview, ask)}</div>`;
    return { title, place: 'now', crumb: 'Now', body };
  }),
];

/** What to do about the only thing that needs a person, below the sentence that names it. An incident has a panel of its own. */
function onlyTodo({ headline: { needs } }: OverviewBody): Html {
  const [only, another] = needs;
  if (only === undefined || another !== undefined || only.incident !== null) return NOTHING;
  return html`<p class="sub"><bdi>What to do: ${only.todo}</bdi></p>`;
}

/** All that needs a person beside the incidents, which have panels of their own; nothing where the sentence says it all. */
function needList({ headline: { needs } }: OverviewBody): Html {
  const others = needs.filter(({ incident }) => incident === null);
  if (others.length === 0 || needs.length === 1) return NOTHING;
  const item = ({ severity, text, todo }: OverviewBody['headline']['needs'][number]): Html =>
    html`<li>${status(severity, severity)} <bdi>${tied(text)}.</bdi><p class="small"><bdi>What to do: ${todo}</bdi></p></li>`;
  return panel({ id: 'needs', title: 'Needs a person', body: html`<ul class="rows">${others.map(item)}</ul>` });
}

function second({ purchases, polling }: OverviewBody, flow: FlowBody): string {
  const { polls, failedPolls, changes } = polling.perMinute.last5Minutes;
  const late = polling.due.oldestMs < 1_000 ? '' : `, the oldest due for ${length(polling.due.oldestMs)}`;
  const { waiting, withinMs } = polling.firstPolls;
  const firsts =
    waiting === 0
      ? ''
      : ` ${counted(waiting, 'first poll')} of bulk registrations to come${withinMs === null ? '' : `, within about ${length(withinMs)}`}; single registrations go first.`;
  const failed = failedPolls === 0 ? 'none failed' : `${rate(failedPolls)} failed`;
  const hour =
    flow.edges.length === 0
      ? ''
      : ` ${flow.site === null ? 'Since' : `At ${flow.site} since`} ${flowText(flow, flowPicture(flow))}.`;
  return `${counted(purchases.watching, 'purchase is', 'purchases are')} watched, ${purchases.stuck} stuck. In the last 5 min: ${rate(polls)} polls a minute (${failed}), ${rate(changes)} changes a minute${late}.${firsts}${hour}`;
}

const rate = (value: number): string => number(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));

function incidentPanel(incident: ListedIncidentBody, { base, now, mayOperate }: Ask): Html {
  const { id, severity, where, what, peak, count, owner, reopenedAt, openedAt, alarm, money } = incident;
  const path = `${base}/incidents/${id}`;
  const isEnding = incident.endsAt !== null;
  const share =
    alarm === null
      ? NOTHING
      : html`<div><dd>${alarm.overdue} <small>of ${alarm.entrants}</small></dd><dt>were stuck when the incident began; usually ${Math.round(alarm.usualShare * 1_000) / 10} in 100</dt></div>`;
  const waits = money === null || count === 0 ? NOTHING : html`<div><dd>${moneyWaiting(money)}</dd><dt>money waiting</dt></div>`;
  return html`<article class="panel inc is-${shapeOf(incident)}" aria-labelledby="${id}"><div class="body">
<div><div class="meta">${isEnding ? tag('waiting', 'ending') : tag(severity, severity)}<a href="${path}">${id}</a><span>${written(where)}</span><span>open for ${since(reopenedAt ?? openedAt, now)}</span><span>${owner === null ? 'not acknowledged' : html`acknowledged by ${written(owner)}`}</span></div>
<h2 id="${id}"><a href="${path}">${tied(what)}</a></h2>${isEnding ? html`<p class="sub">It ${comingEnd(incident, now)}.</p>` : NOTHING}</div>
<dl class="figs"><div><dd>${number(count)}</dd><dt>now, ${number(peak)} at the worst</dt></div>${waits}${share}</dl>
<div class="acts"><a class="btn first" href="${path}">${mayOperate && owner === null && !isEnding ? 'Open and acknowledge' : 'Open'}</a></div>
</div></article>`;
}
