/** How everything is now: one sentence, the open incidents, what is polled and delivered, and the health of each part. */
import type { OverviewBody } from '../../api/health/overview.ts';
import type { IncidentBody } from '../../api/incidents/fields.ts';
import { counted } from '../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../frame/html.ts';
import { icon, type Shape, status, tag } from '../frame/icons.ts';
import { type Ask, page } from '../frame/page-route.ts';
import { facts, nothingHere, panel, written } from '../parts/lists.ts';
import { length, since, when } from '../parts/time.ts';

const MOST_SHOWN = 20;

export const nowPages = [
  page('/', async (ask) => {
    const [overview, incidents] = await Promise.all([
      ask.api.get<OverviewBody>('/v1/overview'),
      ask.api.get<{ data: IncidentBody[] }>('/v1/incidents', { status: 'open', limit: MOST_SHOWN }),
    ]);
    const open = incidents.data.filter(({ parent }) => parent === null).sort(worstFirst);
    const says = sentence(overview, open);
    const body = html`<div class="head"><h1 class="say" data-said>${says.shape === null ? NOTHING : icon(says.shape, `s-ico ${says.shape}`)}${tied(says.text)}</h1><p class="sub">${tied(second(overview))}</p></div>
<div class="stack">${open.map((incident) => incidentPanel(incident, ask))}${health(overview, ask)}</div>`;
    return { title: says.title, place: 'now', crumb: 'Now', body };
  }),
];

const RANK = { critical: 0, warning: 1 };

function worstFirst(a: IncidentBody, b: IncidentBody): number {
  return RANK[a.severity] - RANK[b.severity] || b.count - a.count;
}

interface Sentence {
  readonly title: string;
  readonly text: string;
  readonly shape: Shape | null;
}

/** Whoever reads only this knows whether something has to be done. */
function sentence({ purchases, sites, replicas }: OverviewBody, open: readonly IncidentBody[]): Sentence {
  const [worst, ...others] = open;
  if (worst !== undefined) {
    const more = others.length === 0 ? '' : ` ${counted(others.length, 'more incident is open', 'more incidents are open')}.`;
    const title = `${counted(open.length, 'open incident')}, ${worst.severity}`;
    return { title, text: `${worst.where}: ${worst.what}.${more}`, shape: worst.severity };
  }
  if (replicas.length === 0) return { title: 'No daemon runs', text: 'No replica polls purchases now.', shape: 'critical' };
  const silent = sites.filter(({ configured, answers }) => configured && !answers);
  if (silent.length > 0) {
    const text = `${silent.map(({ site }) => site).join(', ')}: no purchase can be read. An incident opens when that lasts.`;
    return { title: 'A site does not answer', text, shape: 'warning' };
  }
  if (purchases.total === 0) return { title: 'No purchase yet', text: 'No purchase is registered yet.', shape: null };
  return { title: 'Nothing needs to be done', text: 'Customers get on as usual. Nothing needs to be done.', shape: null };
}

function second({ purchases, polling }: OverviewBody): string {
  const { polls, failedPolls, changes } = polling.perMinute.last5Minutes;
  const late = polling.due.oldestMs < 1_000 ? '' : `, the oldest due for ${length(polling.due.oldestMs)}`;
  const failed = failedPolls === 0 ? 'none failed' : `${rate(failedPolls)} failed`;
  return `${counted(purchases.watching, 'purchase is', 'purchases are')} watched, ${purchases.stuck} overdue. ${rate(polls)} polls a minute (${failed}), ${rate(changes)} changes a minute${late}.`;
}

const rate = (value: number): string => number(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));

function incidentPanel(incident: IncidentBody, { base, now, mayOperate }: Ask): Html {
  const { id, severity, where, what, peak, count, owner, reopenedAt, openedAt, alarm } = incident;
  const path = `${base}/incidents/${id}`;
  const share =
    alarm === null
      ? NOTHING
      : html`<div><dd>${alarm.overdue} <small>of ${alarm.entrants}</small></dd><dt>did not get on in time when it was noticed, usually ${Math.round(alarm.usualShare * 1_000) / 10} in 100</dt></div>`;
  return html`<article class="panel inc is-${severity}" aria-labelledby="${id}"><div class="body">
<div><div class="meta">${tag(severity, severity)}<a href="${path}">${id}</a><span>${written(where)}</span><span>open for ${since(reopenedAt ?? openedAt, now)}</span><span>${owner === null ? 'not acknowledged' : html`acknowledged by ${written(owner)}`}</span></div>
<h2 id="${id}"><a href="${path}">${tied(what)}</a></h2></div>
<dl class="figs"><div><dd>${number(count)}</dd><dt>now, ${number(peak)} at the worst</dt></div>${share}</dl>
<div class="acts"><a class="btn first" href="${path}">${mayOperate && owner === null ? 'Look, and acknowledge' : 'Look'}</a></div>
</div></article>`;
}

/** Sites, subscribers and replicas, each with its state in words. */
function health({ sites, subscribers, replicas }: OverviewBody, { base, now, origin }: Ask): Html {
  const site = (each: OverviewBody['sites'][number]): Html =>
    html`<li>${each.answers ? status('ok', 'answers') : status('critical', 'cannot be read')} <a href="${base}/sites/${encodeURIComponent(each.site)}">${each.site}</a> <span class="mute">${each.answers ? html`last answer ${when(each.lastAnswerAt, now)}` : (each.lastError ?? '')}</span></li>`;
  const subscriber = (each: OverviewBody['subscribers'][number]): Html =>
    html`<li>${subscriberStatus(each)} <a href="${base}/subscribers/${encodeURIComponent(each.name)}">${each.name}</a> <span class="mute">${waitingText(each)}</span></li>`;
  const replica = (each: OverviewBody['replicas'][number]): Html =>
    html`<li>${status('ok', 'runs')} <span class="id">${each.id}</span> <span class="mute">${each.shards} of 64 shards, since ${when(each.startedAt, now)}</span></li>`;
  return panel({
    id: 'health',
    title: 'Health',
    body: html`<div class="body">${facts([
      ['Sites', html`<ul>${sites.filter(({ configured }) => configured).map(site)}</ul>`],
      [
        'Subscribers and channels',
        subscribers.length === 0
          ? nothingHere('Nobody gets events yet.', html`Add a subscriber: <code>curl -X POST ${origin}/v1/subscribers …</code>`)
          : html`<ul>${subscribers.map(subscriber)}</ul>`,
      ],
      ['Replicas', html`<ul>${replicas.map(replica)}</ul>`],
    ])}</div>`,
  });
}

function subscriberStatus({ status: is, health: { status: health } }: OverviewBody['subscribers'][number]): Html {
  if (is === 'off') return status('off', 'off');
  const shapes = { ok: 'ok', failing: 'warning', unreached: 'warning', paused: 'paused', off: 'off' } as const;
  return status(shapes[health], health);
}

function waitingText({ waiting: { pending, parked, atLeast } }: OverviewBody['subscribers'][number]): string {
  const most = atLeast ? 'at least ' : '';
  if (parked > 0) return `${most}${counted(parked, 'delivery is parked', 'deliveries are parked')}`;
  return pending === 0 ? '' : `${most}${counted(pending, 'delivery waits', 'deliveries wait')}`;
}
