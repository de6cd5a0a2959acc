/** How everything was at a moment of the last 14 days. The page stands still, offers no act, and says nothing of the present. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { ThenBody } from '../../../api/overview/then.ts';
import { DAY, HOUR, type Instant, MINUTE } from '../../../domain/values/time.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel, written } from '../../parts/lists.ts';
import { instantIn } from '../../parts/local-time.ts';
import { clockTime, dayName, exactTime, length, zoneName } from '../../parts/time.ts';
import { moneyWaiting } from '../incidents/money.ts';
import { activityCharts } from './activity-charts.ts';
import { flowPanel } from './flow-panel.ts';
import { hourStrip } from './hour-strip.ts';

const TEN_MINUTES = 10 * MINUTE;
/** Incidents that the API answers of the 14 days. */
const MOST_OPENED = 100;

export async function thenView(ask: Ask, { at: given, site }: { at: string; site: string }): Promise<View> {
  const [then, overview] = await Promise.all([
    ask.api.get<ThenBody>('/v1/then', { at: instantIn(given, zoneName()), site }),
    ask.api.get<OverviewBody>('/v1/overview'),
  ]);
  const at = Date.parse(then.at);
  const sites = overview.sites.filter(({ configured }) => configured).map((each) => each.site);
  const name = `${dayName(at)}, ${clock(at)}`;
  const mark = then.severity === null ? NOTHING : icon(then.severity, `s-ico ${then.severity}`);
  const body = html`<div class="then">${bar(then, { at, name, ask })}
<div class="head"><h1 class="say">${mark}${tied(then.sentence)}</h1><p class="sub">${tied(then.rest)}</p></div>
<div class="stack">${incidentPanel(then, ask)}${silencePanel(then)}${flow(then, { sites, ask })}${activityCharts(then.activity, `The hour before ${clock(at)}`)}<p class="small mute">${then.notKept}</p></div></div>`;
  return { title: name, place: 'now', crumb: html`<a href="${ask.base}/">Now</a> / ${name}`, body, isLive: false };
}

const clock = (at: Instant): string => clockTime(at).slice(0, 5);

/** The strip of hours, the steps through time, and the field for any moment. */
function bar({ hours, opened, site }: ThenBody, { at, name, ask: { base, now } }: { at: Instant; name: string; ask: Ask }): Html {
  const addressOf = (moment: Instant): string => {
    const ofSite = site === null ? '' : `&site=${encodeURIComponent(site)}`;
    return `${base}/?at=${new Date(moment).toISOString().slice(0, 16)}Z${ofSite}`;
  };
  const isNoted = hours.some(({ came }) => came !== null);
  const legend = html`<div class="legend"><span><i class="k flow"></i>bar: customers who came in the hour</span><span><i class="k stuck"></i>the most who were stuck at once (three times as high)</span><span>above: incidents${opened.length >= MOST_OPENED && `, the latest ${MOST_OPENED}`}</span>${hours.some(({ came }) => came === null) && html`<span>dash: an hour that no daemon noted</span>`}</div>`;
  const zone = zoneName();
  const utc = zone === 'UTC' ? '' : `${new Date(at).toISOString().slice(11, 16)} UTC · `;
  return html`<section class="then-bar" aria-label="Another time"><div class="row"><b>This is how it was on ${name}, ${zone}</b><span class="mute">${utc}stands still · what became known later is left out</span></div>
${isNoted ? hourStrip({ hours, opened, at, base, addressOf }) : html`<p>No daemon has noted an hour yet. From now on one does so every ten minutes, and keeps it for 14 days.</p>`}
<div class="row">${steps({ hours, opened }, { at, now, base, addressOf })}<form action="${base}/">${site !== null && html`<input type="hidden" name="site" value="${site}">`}<label>At <input type="datetime-local" name="at" value="${local(at)}" min="${local(Date.parse(hours[0]!.to) - HOUR)}" required></label><button class="btn">Show</button></form></div>
${isNoted && legend}</section>`;
}

/** As fields of a browser write a moment, in the page's zone. */
const local = (at: Instant): string => exactTime(at).slice(0, 16).replace(' ', 'T');

/** Links that are keys, too: those that lead to a moment of which something can be shown. */
function steps(
  { hours, opened }: Pick<ThenBody, 'hours' | 'opened'>,
  { at, now, base, addressOf }: { at: Instant; now: Instant; base: string; addressOf(at: Instant): string },
): Html {
  const first = Date.parse(hours[0]!.to) - HOUR;
  // The first whole ten minutes at which an incident had been opened.
  const begins = opened.map(({ openedAt }) => Math.ceil(Date.parse(openedAt) / TEN_MINUTES) * TEN_MINUTES);
  const step = (to: Instant | undefined, key: string, text: string): Html | false =>
    to !== undefined && to >= first && to <= now && html`<a class="btn" data-key="${key}" href="${addressOf(to)}">${text}</a>`;
  return html`<nav class="steps-nav" aria-label="Step through time">${step(at - HOUR, 'ArrowLeft', `‹ ${clock(at - HOUR)}`)}${step(at + HOUR, 'ArrowRight', `${clock(at + HOUR)} ›`)}${step(at - DAY, 'Shift ArrowLeft', 'A day before')}${step(at + DAY, 'Shift ArrowRight', 'A day after')}${step(at - 7 * DAY, '', 'A week before')}${step(
    begins.find((begin) => begin < at),
    '[',
    'Incident before',
  )}${step(
    begins.findLast((begin) => begin > at),
    ']',
    'Incident after',
  )}<a class="btn first" data-key="Home" href="${base}/">Back to now</a></nav>`;
}

function incidentPanel({ incidents, at }: ThenBody, { base }: Ask): Html {
  if (incidents === null || incidents.length === 0) return NOTHING;
  const item = ({ id, where, what, severity, quiet, openMs, acknowledged, told }: (typeof incidents)[number]): Html => {
    const shape = quiet ? 'waiting' : severity;
    const care =
      acknowledged === null
        ? ''
        : html` ${written(acknowledged.by)} had acknowledged it at ${clock(Date.parse(acknowledged.at))}.`;
    return html`<li>${icon(shape, shape)}<div class="what"><a href="${base}/incidents/${id}"><span class="vh">${severity}: </span><bdi>${where}: ${tied(what)}</bdi></a><p>It had been open for ${length(openMs)}${quiet ? ', and nothing was wrong in it any more' : ''}.${care} ${told === null ? 'People had not been told of it by then.' : toldText(told)}</p></div></li>`;
  };
  return panel({
    id: 'incidents',
    title: 'Incidents that were open',
    note: `at ${clock(Date.parse(at))}; each link leads to all that is known of it today`,
    body: html`<ul class="needs">${incidents.map(item)}</ul>`,
  });
}

function toldText({ at, count, waiting }: NonNullable<NonNullable<ThenBody['incidents']>[number]['told']>): Html {
  const stuck = count === null ? '' : `: ${number(count)} stuck then`;
  const money = waiting.length > 0 && html`, money waiting: ${moneyWaiting({ waiting, unpriced: 0, atLeast: false })}`;
  return html`People had been told last at ${clock(Date.parse(at))}${stuck}${money}.`;
}

function silencePanel({ silences }: ThenBody): Html {
  if (silences.length === 0) return NOTHING;
  const item = ({ reason, by, startsAt, endsAt }: (typeof silences)[number]): Html =>
    html`<li>${icon('off', 'off')}<div class="what"><p><b><bdi>${reason}</bdi></b></p><p>By ${written(by)}, from ${moment(startsAt)} to ${moment(endsAt)}.</p></div></li>`;
  return panel({
    id: 'silences',
    title: 'Silences that held',
    note: 'people were not alerted of some incidents',
    body: html`<ul class="needs">${silences.map(item)}</ul>`,
  });
}

const moment = (iso: string): string => `${dayName(Date.parse(iso))}, ${clock(Date.parse(iso))}`;

function flow({ flow: found, at }: ThenBody, { sites, ask }: { sites: readonly string[]; ask: Ask }): Html {
  if (found !== null) return flowPanel(found, sites, ask, at);
  return panel({
    id: 'flow',
    title: `Flow in the hour before ${clock(Date.parse(at))}`,
    body: nothingHere(
      'No daemon noted how purchases stood at this moment: none ran, or one of an earlier version did, or the database could not be written.',
    ),
  });
}
