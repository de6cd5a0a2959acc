/** The result of a rehearsal: the timeline, the numbers, the messages, and the facts on which the result rests. */

import { type MessageSums, type RehearsalBody, type ShownIncident, STAGES } from '../../../actions/rehearse/body.ts';
import { reuseText } from '../../../domain/incidents/paid-twice.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import { nothingHere, panel, written } from '../../parts/lists.ts';
import { beside } from '../../parts/states.ts';
import { dayTime, momentTime } from '../../parts/time.ts';
import { incidentPlace, type TimelineSide, timelinePicture } from '../../pictures/rehearsal.ts';

/** The API lists more. */
const MOST_MESSAGES = 200;
const MOST_INCIDENTS = 100;
const PRESENT = 'Present settings';
const CHANGED = 'Changed settings';
const REALLY = 'Really sent';

/** The time and the settings that differ, below the sentence. */
export function aboutText({ from, to, site, changed, silencesIgnored }: RehearsalBody): Html {
  const settings = changed.map(
    ({ setting, present, tried }) => html`, <code>${setting}</code> ${tied(tried)} instead of ${tied(present)}`,
  );
  return html`${dayTime(Date.parse(from))} to ${dayTime(Date.parse(to))}${site !== null && html`, ${written(site)} alone`}${silencesIgnored ? ', silences ignored' : ''}${settings}.`;
}

export function timelinePanel(body: RehearsalBody): Html {
  const { rehearsed, present, really } = body;
  const sides: TimelineSide[] = [
    { name: present === null ? PRESENT : CHANGED, incidents: rehearsed.timeline, said: rehearsed.said },
    ...(present === null ? [] : [{ name: PRESENT, incidents: present.timeline, said: present.said }]),
    { name: REALLY, incidents: [], said: really.said },
  ];
  const picture = timelinePicture({ from: Date.parse(body.from), to: Date.parse(body.to), sides });
  return panel({
    id: 'timeline',
    title: 'Timeline',
    note: 'incidents as bars, alerts as marks',
    body: html`<figure class="fig body">${picture}</figure>${incidentTable(body)}`,
  });
}

/** The bars of the picture as a table. */
function incidentTable({ rehearsed, present, from, to }: RehearsalBody): Html {
  const span = Date.parse(to) - Date.parse(from);
  const time = (at: string | null, otherwise: string) => (at === null ? otherwise : momentTime(Date.parse(at), span));
  const row =
    (side: string) =>
    (incident: ShownIncident): Html =>
      html`<tr><th scope="row" class="wide"><bdi>${incidentPlace(incident)}</bdi></th><td>${side}</td><td class="end">${status(incident.severity, incident.severity)}</td><td data-l="opened">${time(incident.openedAt, '')}</td><td data-l="first alert">${time(incident.alertedAt, 'none')}</td><td data-l="ended">${time(incident.endedAt, 'still open')}</td><td class="num" data-l="at the worst">${number(incident.peak)}</td></tr>`;
  const all = [
    ...rehearsed.timeline.map(row(present === null ? PRESENT : CHANGED)),
    ...(present?.timeline ?? []).map(row(PRESENT)),
  ];
  const rows = all.slice(0, MOST_INCIDENTS);
  const rest =
    all.length > rows.length &&
    html`<p class="small body">${counted(all.length - rows.length, 'more incident')} are in the answer of the API.</p>`;
  const table =
    rows.length === 0
      ? nothingHere('No incident would have been open.')
      : html`<table class="cards fits"><thead><tr><th scope="col">Where</th><th scope="col">With</th><th scope="col">Severity</th><th scope="col">Opened</th><th scope="col">First alert</th><th scope="col">Ended</th><th scope="col" class="num">At the worst</th></tr></thead><tbody>${rows}</tbody></table>${rest}`;
  return html`<details class="same" id="timeline-table"><summary>The incidents as a table</summary>${table}</details>`;
}

export function numbersPanel({ rehearsed, present, really }: RehearsalBody): Html {
  const sides: readonly (readonly [string, MessageSums])[] = [
    [present === null ? PRESENT : CHANGED, rehearsed],
    ...(present === null ? [] : [[PRESENT, present] as const]),
    [REALLY, really],
  ];
  const row = (name: string, of: (side: MessageSums) => number | null): Html =>
    html`<tr><th scope="row" class="wide">${name}</th>${sides.map(([side, sums]) => html`<td class="num left" data-l="${side.toLowerCase()}">${shown(of(sums))}</td>`)}</tr>`;
  const stages = STAGES.filter((stage) => sides.some(([, side]) => side.stages[stage] > 0));
  const opened = (side: MessageSums): number | null => ('incidents' in side ? (side.incidents as number) : null);
  const riskOf = (side: MessageSums) => (side === rehearsed ? rehearsed.atRisk : side === present ? present.atRisk : null);
  const body = html`<table class="cards fits"><thead><tr><th scope="col"><span class="vh">What</span></th>${sides.map(([name]) => html`<th scope="col" class="num">${name}</th>`)}</tr></thead><tbody>${row('Alerts', ({ messages }) => messages)}${rehearsed.perDay !== null && row('Alerts a day', ({ perDay }) => perDay)}${stages.map((stage) => row(WORDS[stage], ({ stages: counts }) => counts[stage]))}${row('Incidents that opened', opened)}${row('Purchases found stuck', ({ overdue }) => overdue)}${(rehearsed.atRisk ?? present?.atRisk) != null && html`${row('Announced as at risk', (side) => riskOf(side)?.announced ?? null)}${row('Of these, ended not paid', (side) => riskOf(side)?.lost ?? null)}`}</tbody></table>`;
  return panel({ id: 'numbers', title: 'Numbers', body });
}

const shown = (value: number | null): string => (value === null ? '' : Number.isInteger(value) ? number(value) : String(value));

const WORDS: Readonly<Record<(typeof STAGES)[number], string>> = {
  opened: 'Alerts: an incident began',
  reopened: 'Alerts: an incident came back',
  grew: 'Alerts: an incident grew',
  reminder: 'Alerts: reminders',
  ended: 'Alerts: an incident is over',
  checkouts: 'Alerts: single checkouts',
  paid_twice: 'Alerts: orders paid twice',
};

/** The messages that would have been sent, first to last. */
export function messagesPanel({ rehearsed, present, from, to }: RehearsalBody): Html {
  const span = Date.parse(to) - Date.parse(from);
  const { said, messages } = rehearsed;
  const rows = said.slice(0, MOST_MESSAGES);
  const row = ({ at, channels, stage, headline }: (typeof said)[number]): Html =>
    html`<tr><th scope="row" class="nowrap">${momentTime(Date.parse(at), span)}</th><td class="wide">${stage}<small>${channels.join(', ')}</small></td><td class="wide"><bdi>${tied(headline)}</bdi></td></tr>`;
  const body =
    rows.length === 0
      ? nothingHere('Nothing: no alert would have been sent in this time.')
      : html`<table class="cards fits"><thead><tr><th scope="col">At</th><th scope="col">Stage</th><th scope="col">Headline</th></tr></thead><tbody>${rows.map(row)}</tbody></table>`;
  const more = messages - rows.length;
  return panel({
    id: 'messages',
    title: 'What would have been sent',
    note: `with the ${present === null ? 'present' : 'changed'} settings, first to last`,
    body,
    ...(more > 0 && { foot: html`<span>${number(more)} more follow.</span>` }),
  });
}

/** The facts and assumptions on which the result rests. */
export function basisPanel({ stays, taughtSince, channelInvented, limits, reusing }: RehearsalBody): Html {
  const taught =
    taughtSince === null
      ? 'Nothing was recorded before the time, so what is usual had to be learned from the time itself.'
      : `What is usual was learned from the time since ${dayTime(Date.parse(taughtSince))}.`;
  const read =
    stays === 0
      ? 'No purchase was in a state with a limit.'
      : `${counted(stays, 'stay')} in states with a limit were gone through.`;
  const items: (Html | string)[] = [
    read,
    taught,
    ...(channelInvented ? ['No channel for people is configured: shown as for one Slack channel that gets every alert.'] : []),
    ...reusing.map(
      ({ site, ...counts }) => html`<b>${site}</b>: no person is alerted of orders paid twice, because ${reuseText(counts)}`,
    ),
    ...limits.map(({ site, state, text }) => html`<b>${site}, ${stateWords(state.value)}</b>${beside(state)}: ${tied(text)}`),
    'Between two polls it is not known when a customer left: half-way is assumed. So this is a rehearsal, and not what would have happened to the second.',
  ];
  return panel({
    id: 'basis',
    title: 'What this rests on',
    body: html`<ul class="rows">${items.map((item) => html`<li>${item}</li>`)}</ul>`,
  });
}
