/** The facts of an incident: its numbers, likely causes, parts, and the messages about it. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentBody, IncidentDetailsBody } from '../../../api/incidents/fields.ts';
import { NO_CHANNEL } from '../../../domain/explain/standing.ts';
import { CAUSES, isCauseKey } from '../../../domain/incidents/causes.ts';
import { markWords, sliceWords } from '../../../domain/incidents/slice.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { type Shape, status, tag } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { comingEnd } from '../../parts/incidents.ts';
import { type Fact, factsPanel, panel } from '../../parts/lists.ts';
import { stateCell } from '../../parts/states.ts';
import { clockTime, inPageZone, length, when } from '../../parts/time.ts';
import { moneyLines } from './money.ts';

/** The evidence for the incident, as a sentence below the first one. */
export function restsOn({ alarm }: Pick<IncidentBody, 'alarm'>): string {
  if (alarm === null) return '';
  const { rule, overdue, entrants, usualShare, since: first, perDay } = alarm;
  const from = clockTime(Date.parse(first));
  if (rule === 'sparse') {
    const few = perDay === null ? '' : `, where about ${Math.round(perDay * 10) / 10} a day come`;
    return `${counted(overdue, 'customer')} in a row since ${from} did not get on in time${few}.`;
  }
  const whole =
    overdue === entrants ? `All of the first ${number(entrants)}` : `${number(overdue)} of the first ${number(entrants)}`;
  return `${whole} since ${from} did not get on in time; usually ${inHundred(usualShare)} do not.`;
}

/** `3 in 100`. */
const inHundred = (share: number): string => `${Math.round(share * 1_000) / 10} in 100`;

/** How many, since when, and what it would take for chance to look like this. */
export function numbers(incident: IncidentDetailsBody, customers: IncidentCustomersBody | null, ask: Ask): Html {
  return factsPanel('numbers', 'Numbers', [
    ...countRows(incident, customers),
    ...placeRows(incident, ask),
    ...sliceRows(incident, customers, ask),
    ...timeRows(incident, ask),
    ...workingRows(incident, customers),
  ]);
}

const COUNTED = {
  stuck: 'Stuck now',
  subscriber: 'Deliveries waiting or given up',
  replica: 'Replicas in trouble now',
} as const;

function countRows({ kind, count, peak, endedAt }: IncidentDetailsBody, customers: IncidentCustomersBody | null): Fact[] {
  const moved = customers === null ? 0 : customers.places.reduce((sum, { movedOn }) => sum + movedOn, 0);
  const wait = customers !== null && endedAt === null && customers.counted > 0;
  if (kind === 'unreachable') return [];
  return [
    endedAt === null
      ? [COUNTED[kind], html`${number(count)}<small>${number(peak)} at the worst</small>`]
      : [
          'At the worst',
          html`${number(peak)}${kind === 'stuck' && count > 0 && html`<small>${number(count)} still stuck at the end, who may have left</small>`}`,
        ],
    wait && ['Money waiting', moneyLines(customers)],
    moved > 0 && ['Got on after all', number(moved)],
  ];
}

function placeRows({ site, state, subscriber, parent }: IncidentDetailsBody, { base }: Ask): Fact[] {
  return [
    site !== null && ['Site', html`<a href="${base}/sites/${encodeURIComponent(site)}"><bdi>${site}</bdi></a>`],
    state !== null && ['State', stateCell(state)],
    subscriber !== null && [
      'Subscriber',
      html`<a href="${base}/subscribers/${encodeURIComponent(subscriber)}"><bdi>${subscriber}</bdi></a>`,
    ],
    parent !== null && ['Part of', html`<a class="id" href="${base}/incidents/${parent}">${parent}</a>`],
  ];
}

/** The narrowest slice that holds the fault, and the mark near its beginning. */
function sliceRows({ alarm, since }: IncidentDetailsBody, customers: IncidentCustomersBody | null, { now }: Ask): Fact[] {
  const { slice = null, mark = null } = customers ?? {};
  const began = Date.parse(slice?.since ?? alarm?.since ?? since);
  return [
    slice !== null && [
      'Narrowed down to',
      html`<bdi>${sliceWords(slice)}</bdi>, since ${when(slice.since, now)}<small>${number(slice.inside.stuck)} of ${counted(slice.inside.came, 'customer')} got stuck, elsewhere ${number(slice.elsewhere.stuck)} of ${number(slice.elsewhere.came)}</small>`,
    ],
    mark !== null && [
      'Near a mark',
      html`<bdi>${markWords({ at: Date.parse(mark.at), text: mark.text }, began)}</bdi><small>marked ${when(mark.at, now)}</small>`,
    ],
  ];
}

function timeRows(incident: IncidentDetailsBody, { now }: Ask): Fact[] {
  const { openedAt, reopenedAt, quietSince, endsAt, endedAt, alarm, since: first } = incident;
  const isOpen = endedAt === null;
  return [
    [
      alarm === null ? 'Began' : 'First came',
      html`${when(alarm?.since ?? first, now)}<small>opened ${when(openedAt, now)}</small>`,
    ],
    alarm !== null && [
      'Noticed',
      html`${when(alarm.at, now)}<small>${span(alarm.since, alarm.at)} after the first of them came</small>`,
    ],
    reopenedAt !== null && ['Came back', when(reopenedAt, now)],
    !isOpen && ['Ended', html`${when(endedAt, now)}<small>after ${span(openedAt, endedAt)}</small>`],
    isOpen && quietSince !== null && ['Quiet', html`${when(quietSince, now)}<small>${comingEnd(incident, now)}</small>`],
    isOpen && quietSince === null && endsAt !== null && ['Ends', html`${when(endsAt, now)}<small>${incident.endsUnless}</small>`],
  ];
}

/** The evidence for the incident: how many came, how long is usual, and how rarely chance looks like this. */
function workingRows({ alarm, limit }: IncidentDetailsBody, customers: IncidentCustomersBody | null): Fact[] {
  const [only, another] = customers?.places ?? [];
  return [
    only?.came != null &&
      another === undefined && [
        'Since it began',
        html`${number(only.came.overdue)} of ${counted(only.came.of, 'customer')}<small>did not get on in time${only.usualShare === null ? '' : `; usually ${inHundred(only.usualShare)}`}</small>`,
      ],
    limit !== null && ['Stuck after', limitText(limit)],
    alarm?.falseAlarmEvery != null && ['By chance alone', byChance(alarm.falseAlarmEvery, alarm.perDay)],
  ];
}

function limitText({ ms, usualMs, p95Ms, purchases }: NonNullable<IncidentDetailsBody['limit']>): Html {
  const known = [
    ...(usualMs === null ? [] : [`usual ${length(usualMs)}`]),
    ...(p95Ms === null ? [] : [tied(`95 % under ${length(p95Ms)}`)]),
    ...(purchases === null ? [] : [`from ${counted(purchases, 'purchase')}`]),
  ];
  return html`${length(ms)}${known.length !== 0 && html`<small>${known.join(', ')}</small>`}`;
}

const span = (from: string, to: string): string => length(Math.max(Date.parse(to) - Date.parse(from), 0));

function byChance(every: number, perDay: number | null): Html {
  const often =
    perDay !== null &&
    perDay > 0 &&
    html`<small>${tied(`about every ${number(Math.max(1, Math.round(every / perDay)))} d with the ${number(Math.round(perDay))} a day who come here`)}</small>`;
  return html`once in ${number(Math.round(every))} customers${often}`;
}

/** The exact fault, or the possible ones where no cause is named, and what to do: the remedy is read first. */
export function advice({ kind, wrong, todo, meanwhile }: IncidentDetailsBody): Html {
  if (wrong.length + todo.length + meanwhile.length === 0) return NOTHING;
  const isStuck = kind === 'stuck';
  const body = html`<ol class="rows">${texts('What to do', todo)}${texts(isStuck ? 'What it may be' : 'What is wrong', wrong)}${texts('Meanwhile', meanwhile)}</ol>`;
  return panel({ id: 'advice', title: isStuck ? 'What it may be, and what to do' : 'What is wrong, and what to do', body });
}

function texts(title: string, all: readonly string[]): Html {
  if (all.length === 0) return NOTHING;
  return html`<li><h3>${title}</h3>${all.map((text) => html`<p class="cause"><bdi>${withCode(text)}</bdi></p>`)}</li>`;
}

/** Names of settings and commands stand between backticks. */
function withCode(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${tied(part)}`));
}

/** The likely causes, each with what to do before what speaks for it, and what it was the last time. */
export function causes(incident: IncidentDetailsBody, { now, base }: Ask): Html {
  const { causes: likely, earlier, kind, count, alertedAt } = incident;
  if (kind !== 'stuck') return NOTHING;
  const last =
    earlier !== null &&
    html`<section class="panel" aria-label="Last time"><p class="body small-print">${lastTime(incident, earlier, now)}</p></section>`;
  if (likely.length === 0) return html`${advice(incident)}${last}`;
  const one = ({ cause, title, why, remedy, likely: isLikely }: IncidentDetailsBody['causes'][number], index: number): Html => {
    const known = isCauseKey(cause) ? CAUSES[cause] : null;
    const more = known !== null && html` <a href="${base}/docs/alerts.html#${known.anchor}">More of this cause</a>`;
    return html`<li><h3>${index > 0 ? 'Or: ' : isLikely ? 'Likely: ' : 'Possible: '}${title}</h3>${remedy !== null && html`<p class="cause">${remedy}</p>`}<p class="cause mute">Why: ${tied(inPageZone(why))}${known !== null && html` ${known.cause}`}${more}</p></li>`;
  };
  // The reasons name those who were stuck then.
  const asOf = count > 0 || alertedAt === null ? {} : { note: html`as it was ${when(alertedAt, now)}` };
  const body = html`<ol class="rows">${likely.map(one)}${texts('Meanwhile', incident.meanwhile)}</ol>`;
  const foot = earlier === null ? {} : { foot: html`<p>${lastTime(incident, earlier, now)}</p>` };
  return panel({ id: 'causes', title: 'What it may be, and what to do', body, ...asOf, ...foot });
}

function lastTime({ site, state }: IncidentDetailsBody, earlier: NonNullable<IncidentDetailsBody['earlier']>, now: number): Html {
  const { site: at, state: is, title, note, by } = earlier;
  const isHere = at === null || (at === site && is?.value === state?.value);
  const where = isHere ? 'Last time here' : html`Last time at <bdi>${at}</bdi>${is === null ? '' : ` (${stateWords(is.value)})`}`;
  return html`${where}, ${when(earlier.at, now)}, it was: ${title}${by !== null && html`, says <bdi>${by}</bdi>`}.${note !== null && html` “<bdi>${note}</bdi>”`}`;
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
    return html`<li><span>${when(at, ask.now)}</span><div>${tag(stage === 'ended' ? 'ok' : incident.severity, stage)} to <bdi>${channel}</bdi><small class="small">${status(shape, word)}</small></div></li>`;
  };
  const body = html`<ol class="rows tl">${incident.said.map(one)}<li><span>Next</span><div>${hasChannel || incident.endedAt !== null ? next(incident, ask) : html`${NO_CHANNEL}. <a href="${ask.base}/channels">How to set a channel</a>`}</div></li></ol>`;
  return panel({ id: 'sent', title: 'Messages to people', body });
}

function next(
  { endedAt, parent, silencedUntil, owner, nextReminderAt: reminder, alertedAt, kind }: IncidentDetailsBody,
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
  if (alertedAt === null) return html`The first message, once it has lasted for a moment.${last}`;
  const grows = html`<small class="small">at once when it gets worse, or twice as large</small>`;
  if (owner !== null) return html`No reminder, because <bdi>${owner}</bdi> looks after it.${grows}${last}`;
  return html`${reminder === null ? 'No reminder is planned.' : html`A reminder ${when(reminder, now)}, unless somebody acknowledges it.`}${grows}${last}`;
}
