/** What is known of an incident: its numbers, likely causes, parts, and what was sent about it. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentBody, IncidentDetailsBody } from '../../../api/incidents/fields.ts';
import { NO_CHANNEL } from '../../../domain/explain/standing.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { type Shape, status, tag } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { comingEnd } from '../../parts/incidents.ts';
import { facts, panel, written } from '../../parts/lists.ts';
import { stateCell } from '../../parts/states.ts';
import { clockTime, length, when } from '../../parts/time.ts';
import { moneyWaiting } from './customers.ts';

/** What the incident rests on, as a sentence below the first one. */
export function restsOn({ alarm }: IncidentBody): string {
  if (alarm === null) return '';
  const { rule, overdue, entrants, usualShare, at, since: first, perDay } = alarm;
  const noticed = `It was noticed ${length(Math.max(Date.parse(at) - Date.parse(first), 0))} after the first of them came.`;
  const from = clockTime(Date.parse(first));
  if (rule === 'sparse') {
    const few = perDay === null ? '' : `, where about ${Math.round(perDay * 10) / 10} a day come`;
    return `${counted(overdue, 'customer')} in a row since ${from} did not get on in time${few}. ${noticed}`;
  }
  const whole = overdue === entrants ? `All ${counted(entrants, 'customer')}` : `${overdue} of ${counted(entrants, 'customer')}`;
  return `${whole} who came from ${from} on were stuck when the incident began; usually ${inHundred(usualShare)} are. ${noticed}`;
}

/** `3 in 100`. */
const inHundred = (share: number): string => `${Math.round(share * 1_000) / 10} in 100`;

/** How many, since when, and what it would take for chance to look like this. */
export function numbers(incident: IncidentDetailsBody, customers: IncidentCustomersBody | null, { base, now }: Ask): Html {
  const {
    kind,
    site,
    state,
    subscriber,
    count,
    peak,
    openedAt,
    reopenedAt,
    quietSince,
    endsAt,
    endedAt,
    alarm,
    parent,
    since: first,
  } = incident;
  const rows: (readonly [string, Html | string])[] = [
    [COUNTED[kind], html`${number(count)}<small>${number(peak)} at the worst</small>`],
    ['Began', html`${when(first, now)}<small>opened ${when(openedAt, now)}</small>`],
  ];
  if (customers !== null && endedAt === null && count > 0) rows.splice(1, 0, ['Money waiting', moneyWaiting(customers)]);
  if (site !== null) rows.push(['Site', html`<a href="${base}/sites/${encodeURIComponent(site)}">${site}</a>`]);
  if (state !== null) rows.push(['State', stateCell(state)]);
  if (subscriber !== null)
    rows.push(['Subscriber', html`<a href="${base}/subscribers/${encodeURIComponent(subscriber)}">${written(subscriber)}</a>`]);
  if (reopenedAt !== null) rows.push(['Came back', when(reopenedAt, now)]);
  if (endedAt !== null) rows.push(['Ended', html`${when(endedAt, now)}<small>after ${span(openedAt, endedAt)}</small>`]);
  else if (quietSince !== null || endsAt !== null)
    rows.push([
      quietSince === null ? 'Ends' : 'Quiet',
      quietSince === null
        ? html`${when(endsAt, now)}<small>${incident.endsUnless}</small>`
        : html`${when(quietSince, now)}<small>${comingEnd(incident, now)}</small>`,
    ]);
  if (alarm?.falseAlarmEvery != null) rows.push(['By chance alone', byChance(alarm.falseAlarmEvery, alarm.perDay)]);
  if (parent !== null) rows.push(['Part of', html`<a class="id" href="${base}/incidents/${parent}">${parent}</a>`]);
  return panel({ id: 'numbers', title: 'Numbers', body: html`<div class="body">${facts(rows)}</div>` });
}

const COUNTED = {
  stuck: 'Stuck now',
  unreachable: 'Sites of which no purchase is read',
  subscriber: 'Deliveries waiting or given up',
  replica: 'Replicas in trouble now',
} as const;

const span = (from: string, to: string): string => length(Math.max(Date.parse(to) - Date.parse(from), 0));

function byChance(every: number, perDay: number | null): Html {
  const often =
    perDay === null || perDay <= 0
      ? NOTHING
      : html`<small>${tied(`about every ${number(Math.max(1, Math.round(every / perDay)))} d with the ${number(Math.round(perDay))} a day who come here`)}</small>`;
  return html`once in ${number(Math.round(every))} customers${often}`;
}

/** What exactly is wrong with a site or with daemons, and what to do. */
export function advice({ wrong, todo }: IncidentDetailsBody): Html {
  if (wrong.length + todo.length === 0) return NOTHING;
  const lines = [
    ...wrong.map((text) => html`<p class="cause">${tied(text)}</p>`),
    ...todo.map((text) => html`<p class="cause mute">What to do: ${tied(text)}</p>`),
  ];
  return panel({ id: 'advice', title: 'What is wrong, and what to do', body: html`<div class="body">${lines}</div>` });
}

/** The likely causes with what speaks for each and what to do, and what it was the last time. */
export function causes({ causes: likely, earlier, kind, count, saidAt }: IncidentDetailsBody, { now }: Ask): Html {
  if (kind !== 'stuck' || (likely.length === 0 && earlier === null)) return NOTHING;
  const one = ({ title, why, remedy, likely: isLikely }: IncidentDetailsBody['causes'][number], index: number): Html =>
    html`<li><h3>${index > 0 ? 'Or: ' : isLikely ? 'Likely: ' : 'Possible: '}${title}</h3><p class="cause">Why: ${tied(why)}</p>${remedy === null ? NOTHING : html`<p class="cause mute">What to do: ${remedy}</p>`}</li>`;
  const body =
    likely.length === 0
      ? html`<div class="none"><p>Nothing known so far speaks for one of the documented causes.</p></div>`
      : html`<ol class="rows">${likely.map(one)}</ol>`;
  const before =
    earlier === null
      ? {}
      : {
          foot: html`<p>Last time here, ${when(earlier.at, now)}, it was: ${earlier.title}.${earlier.note === null ? NOTHING : html` “${written(earlier.note)}”`}${earlier.by === null ? NOTHING : html`, by ${written(earlier.by)}`}</p>`,
        };
  // The reasons name those who were stuck then.
  const asOf = count > 0 || saidAt === null ? {} : { note: html`as it was ${when(saidAt, now)}` };
  return panel({ id: 'causes', title: 'What it may be, and what to do', body, ...asOf, ...before });
}

/** The states and sites that an incident is made of. */
export function parts({ parts: all }: IncidentDetailsBody, { base, now }: Ask): Html {
  if (all.length === 0) return NOTHING;
  const row = ({ id, site, state, count, peak, endedAt }: IncidentDetailsBody['parts'][number]): Html =>
    html`<tr id="part-${id}"><th scope="row"><a href="${base}/incidents/${id}">${site ?? 'several sites'}</a></th><td>${state === null ? 'several states' : stateCell(state)}</td><td class="num" data-l="stuck">${number(count)}</td><td class="num" data-l="at the worst">${number(peak)}</td><td>${endedAt === null ? 'open' : html`ended ${when(endedAt, now)}`}</td></tr>`;
  const body = html`<table class="cards"><thead><tr><th scope="col">Site</th><th scope="col">State</th><th scope="col" class="num">Stuck</th><th scope="col" class="num">At the worst</th><th scope="col">Is</th></tr></thead><tbody>${all.map(row)}</tbody></table>`;
  return panel({ id: 'parts', title: 'Parts', note: 'with one cause; people are alerted of all together', body });
}

const DELIVERED: Readonly<Record<IncidentDetailsBody['said'][number]['status'], readonly [Shape, string]>> = {
  delivered: ['ok', 'delivered'],
  pending: ['waiting', 'waits to be sent'],
  in_flight: ['waiting', 'is being sent'],
  parked: ['parked', 'parked: the channel is paused'],
  exhausted: ['warning', 'given up'],
  suppressed: ['off', 'not sent'],
};

/** Who was alerted of what and when, and what comes next. */
export function sent(incident: IncidentDetailsBody, ask: Ask, hasChannel: boolean): Html {
  const one = ({ channel, stage, at, status: is }: IncidentDetailsBody['said'][number]): Html => {
    const [shape, word] = DELIVERED[is];
    return html`<li><span>${when(at, ask.now)}</span><div>${tag(stage === 'ended' ? 'ok' : incident.severity, stage)} to ${written(channel)}<small class="small">${status(shape, word)}</small></div></li>`;
  };
  const body = html`<ol class="rows tl">${incident.said.map(one)}<li><span>Next</span><div>${hasChannel || incident.endedAt !== null ? next(incident, ask) : html`${NO_CHANNEL}. <a href="${ask.base}/channels">How to set a channel</a>`}</div></li></ol>`;
  return panel({ id: 'sent', title: 'Messages to people', body });
}

function next(
  { endedAt, parent, silencedUntil, owner, nextReminderAt: reminder, saidAt, kind }: IncidentDetailsBody,
  ask: Ask,
): Html {
  const { base, now } = ask;
  if (endedAt !== null) return html`Nothing: it is over.`;
  if (parent !== null)
    return html`The messages about <a href="${base}/incidents/${parent}">the incident that it is part of</a> are about this one, too.`;
  const ends = kind === 'stuck' ? 'the end, once customers get on again' : 'the end, once nothing is wrong any more';
  const last = html`<small class="small">${ends}</small>`;
  if (silencedUntil !== null)
    return html`Nothing while it is silenced. What is still wrong when the silence ends, ${when(silencedUntil, now)}, is alerted then.${last}`;
  if (saidAt === null) return html`The first message, once it has lasted for a moment.${last}`;
  const grows = html`<small class="small">at once when it gets worse, or twice as large</small>`;
  if (owner !== null) return html`No reminder, because ${written(owner)} looks after it.${grows}${last}`;
  return html`${reminder === null ? 'No reminder is planned.' : html`A reminder ${when(reminder, now)}, unless somebody acknowledges it.`}${grows}${last}`;
}
