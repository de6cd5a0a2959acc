/** How everything is now: one sentence, the open incidents, the flow of purchases, polls and deliveries, and the health of each part. */
import type { ActivityMinute } from '../../../api/health/activity.ts';
import type { FlowBody } from '../../../api/health/flow.ts';
import type { OverviewBody } from '../../../api/health/overview.ts';
import type { ListedIncidentBody } from '../../../api/incidents/fields.ts';
import { sentence as sentenceOf } from '../../../domain/incidents/replica-trouble.ts';
import { unpolledText } from '../../../domain/polling/unpolled.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon, type Shape, tag } from '../../frame/icons.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { comingEnd, comingEndSentence, shapeOf, worstFirst } from '../../parts/incidents.ts';
import { written } from '../../parts/lists.ts';
import { length, since } from '../../parts/time.ts';
import { flowPicture } from '../../pictures/flow-model.ts';
import { moneyWaiting } from '../incidents/customers.ts';
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
    const says = sentence(overview, open, flow);
    const body = html`<div class="head"><h1 class="say" data-said>${says.shape === null ? NOTHING : icon(says.shape, `s-ico ${says.shape}`)}${tied(says.text)}</h1><p class="sub">${tied(second(overview, flow))}</p></div>
<div class="stack">${open.map((incident) => incidentPanel(incident, ask))}${flowPanel(flow, sites, ask)}${activityCharts(activity.minutes, flow.site)}${healthStrip(overview, ask)}</div>`;
    return { title: says.title, place: 'now', crumb: 'Now', body };
  }),
];

interface Sentence {
  readonly title: string;
  readonly text: string;
  readonly shape: Shape | null;
}

/** Of fewer purchases than this that usually complete, less than half is no wonder. */
const ENOUGH_USUAL = 10;

/** A person who reads only this sentence knows whether something has to be done. */
function sentence(
  { purchases, sites, replicas, databaseChanges, daemonsDiffer }: OverviewBody,
  open: readonly ListedIncidentBody[],
  flow: FlowBody,
): Sentence {
  const [worst, ...others] = open;
  const isEnding = worst !== undefined && worst.endsAt !== null;
  // An incident that ends by itself asks nothing of a person, and another trouble may.
  const trouble =
    worst === undefined || isEnding ? troubleBeside({ purchases, sites, replicas, databaseChanges, daemonsDiffer }) : null;
  if (trouble !== null) return trouble;
  if (worst !== undefined) {
    const more = others.length === 0 ? '' : ` ${counted(others.length, 'more incident is open', 'more incidents are open')}.`;
    const title = `${counted(open.length, 'open incident')}, ${worst.severity}`;
    return { title, text: `${worst.where}: ${worst.what}.${comingEndSentence(worst)}${more}`, shape: shapeOf(worst) };
  }
  if (purchases.total === 0) return { title: 'No purchase yet', text: 'No purchase is registered yet.', shape: null };
  const { completed, usuallyCompleted } = flowPicture(flow);
  if (usuallyCompleted !== null && usuallyCompleted >= ENOUGH_USUAL && completed < usuallyCompleted / 2) {
    const text = `Fewer purchases complete than usual: ${number(completed)} in the hour, usually ${number(usuallyCompleted)}. No incident is open.`;
    return { title: 'Fewer complete than usual', text, shape: 'warning' };
  }
  const calm = usuallyCompleted === null ? 'No incident is open.' : 'Customers get on as usual.';
  return { title: 'Nothing needs to be done', text: `${calm} Nothing needs to be done.`, shape: null };
}

/** What a person has to look at although no incident is open; null when there is nothing of the kind. */
function troubleBeside({
  purchases: { unreadable },
  sites,
  replicas,
  databaseChanges,
  daemonsDiffer,
}: Pick<OverviewBody, 'purchases' | 'sites' | 'replicas' | 'databaseChanges' | 'daemonsDiffer'>): Sentence | null {
  if (replicas.length === 0) return { title: 'No daemon runs', text: 'No replica polls purchases now.', shape: 'critical' };
  const unpolled = sites.filter(({ unpolled }) => unpolled > 0);
  if (unpolled.length > 0) {
    const text = unpolled.map((each) => `${sentenceOf(unpolledText({ ...each, name: each.site }))}.`).join(' ');
    return { title: 'A site is not polled', text: `${text} An incident opens when that lasts.`, shape: 'critical' };
  }
  const silent = sites.filter(({ configured, answers }) => configured && !answers);
  if (silent.length > 0) {
    const text = `${silent.map(({ site }) => site).join(', ')}: no purchase can be read. An incident opens when that lasts.`;
    return { title: 'A site does not answer', text, shape: 'warning' };
  }
  const [first] = unreadable;
  if (first !== undefined) {
    const rest =
      unreadable.length === 1 ? '' : ` ${counted(unreadable.length - 1, 'more purchase', 'more purchases')} cannot be read.`;
    const text = `${first.purchaseId} at ${first.site} cannot be read: ${first.lastError ?? 'see its page'}${rest}`;
    return { title: 'A purchase cannot be read', text, shape: 'warning' };
  }
  const lost = databaseChanges.find(({ isOpen }) => isOpen);
  if (lost !== undefined) return { title: 'The database may lack writes', text: lost.text, shape: 'critical' };
  if (daemonsDiffer !== null) {
    const text = `${sentenceOf(daemonsDiffer)}. Give every daemon the same settings; an incident opens when that lasts.`;
    return { title: 'Daemons have different settings', text, shape: 'warning' };
  }
  return null;
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
  return `${counted(purchases.watching, 'purchase is', 'purchases are')} watched, ${purchases.stuck} overdue. In the last 5 min: ${rate(polls)} polls a minute (${failed}), ${rate(changes)} changes a minute${late}.${firsts}${hour}`;
}

const rate = (value: number): string => number(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));

function incidentPanel(incident: ListedIncidentBody, { base, now, mayOperate }: Ask): Html {
  const { id, severity, where, what, peak, count, owner, reopenedAt, openedAt, alarm, money } = incident;
  const path = `${base}/incidents/${id}`;
  const isEnding = incident.endsAt !== null;
  const share =
    alarm === null
      ? NOTHING
      : html`<div><dd>${alarm.overdue} <small>of ${alarm.entrants}</small></dd><dt>did not get on in time when it was noticed, usually ${Math.round(alarm.usualShare * 1_000) / 10} in 100</dt></div>`;
  const waits =
    money === null || count === 0 ? NOTHING : html`<div><dd>${moneyWaiting(money)}</dd><dt>is what they wait with</dt></div>`;
  return html`<article class="panel inc is-${shapeOf(incident)}" aria-labelledby="${id}"><div class="body">
<div><div class="meta">${isEnding ? tag('waiting', 'ending') : tag(severity, severity)}<a href="${path}">${id}</a><span>${written(where)}</span><span>open for ${since(reopenedAt ?? openedAt, now)}</span><span>${owner === null ? 'not acknowledged' : html`acknowledged by ${written(owner)}`}</span></div>
<h2 id="${id}"><a href="${path}">${tied(what)}</a></h2>${isEnding ? html`<p class="sub">It ${comingEnd(incident, now)}.</p>` : NOTHING}</div>
<dl class="figs"><div><dd>${number(count)}</dd><dt>now, ${number(peak)} at the worst</dt></div>${waits}${share}</dl>
<div class="acts"><a class="btn first" href="${path}">${mayOperate && owner === null && !isEnding ? 'Look, and acknowledge' : 'Look'}</a></div>
</div></article>`;
}
