/** How everything is now: one sentence, what needs a person, the flow of purchases, polls and deliveries, and the health of each part. */
import type { FlowBody } from '../../../api/flow/flow.ts';
import type { ListedIncidentBody } from '../../../api/incidents/fields.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import { page } from '../../frame/page-route.ts';
import { length } from '../../parts/time.ts';
import { flowPicture } from '../../pictures/flow-model.ts';
import { type ActivityAnswer, activityCharts, MINUTES_ASKED } from './activity-charts.ts';
import { checklist } from './checklist.ts';
import { flowPanel, flowText } from './flow-panel.ts';
import { healthStrip } from './health.ts';
import { endingList, needList, needShape } from './needs.ts';
import { thenView } from './then.ts';

/** Open incidents whose money is asked for; the list of needs has all. */
const MOST_INCIDENTS = 50;

export const nowPages = [
  page('/', async (ask) => {
    const { site = '', at } = ask.query;
    if (at !== undefined) return thenView(ask, { at, site });
    const [overview, incidents, flow, activity] = await Promise.all([
      ask.api.get<OverviewBody>('/v1/overview'),
      ask.api.get<{ data: ListedIncidentBody[] }>('/v1/incidents', { status: 'open', limit: MOST_INCIDENTS }),
      ask.api.get<FlowBody>('/v1/flow', { site }),
      ask.api.get<ActivityAnswer>('/v1/activity', { site, minutes: MINUTES_ASKED }),
    ]);
    const { title, text, needs } = overview.headline;
    const sites = overview.sites.filter(({ configured }) => configured).map((each) => each.site);
    const isEmpty = overview.purchases.total === 0 && flow.edges.length === 0;
    const sub =
      !isEmpty &&
      html`<p class="sub">${tied(second(overview, flow))} <a href="${ask.base}/?at=1h">How it was at another time</a></p>`;
    const body = html`<div class="head"><h1 class="say" data-said>${mark(overview)}${tied(text)}</h1>${sub}</div>
<div class="stack">${needList(needs, incidents.data, ask)}${endingList(incidents.data, ask)}${isEmpty ? checklist(overview, ask) : html`${flowPanel(flow, sites, ask)}${activityCharts({ ...activity, minutes: activity.minutes.slice(0, -1) })}`}${healthStrip(overview, ask)}</div>`;
    return { title, place: 'now', crumb: 'Now', body };
  }),
];

/** The shape of the worst need before the sentence; none where nothing needs a person. */
function mark({ headline: { severity, needs } }: OverviewBody): Html {
  const [worst] = needs;
  const shape = worst === undefined ? (severity === 'ending' ? 'waiting' : null) : needShape(worst);
  return shape === null ? NOTHING : icon(shape, `s-ico ${shape}`);
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
  const unlimited = unlimitedText(flow);
  return `${counted(purchases.watching, 'purchase is', 'purchases are')} watched, ${number(purchases.stuck)} stuck. In the last 5 min: ${rate(polls)} polls a minute (${failed}), ${rate(changes)} changes a minute${late}.${firsts}${hour}${unlimited}`;
}

/** The states without a limit in which customers wait: a sentence about stuck customers does not include them. */
function unlimitedText(flow: FlowBody): string {
  const places = flowPicture(flow).nodes.filter(({ column, state }) => column === 2 && state.limits.length === 0);
  if (places.length === 0) return '';
  const words = places.map(({ words }) => words.replace(/^waiting /, '')).join(', ');
  return ` No limit is set for customers waiting ${words}: the daemon counts none of them as stuck, however long they wait.`;
}

const rate = (value: number): string => number(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
