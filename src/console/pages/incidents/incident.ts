/** One incident: what is wrong and what that rests on, what to do, what was sent, and what a person does about it. */

import type { OverviewBody } from '../../../api/health/overview.ts';
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentDetailsBody, SilenceBody } from '../../../api/incidents/fields.ts';
import { ApiRefusal } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn, page } from '../../frame/page-route.ts';
import { filled } from '../../parts/fields.ts';
import { comingEnd, shapeOf } from '../../parts/incidents.ts';
import { flash, written } from '../../parts/lists.ts';
import { isForPeople } from '../../parts/receivers.ts';
import { openIncidents } from '../../parts/silences.ts';
import { length, since } from '../../parts/time.ts';
import { type Act, care, type Refused, scopesOf } from './care.ts';
import { share, waiting } from './customers.ts';
import { advice, causes, numbers, parts, restsOn, sent } from './facts.ts';
import {
  readReceiver,
  receiverActions,
  receiverNumbers,
  receiverPanels,
  receiverReason,
  receiverSentence,
  type TroubledReceiver,
} from './receiver.ts';

const MOST_SILENCES = 200;

export const incidentPages = [
  page('/incidents/:id', (ask) => incidentView(ask, null)),
  action('/incidents/:id', async (ask): Promise<View | GoOn> => {
    const act = ACTS.find((each) => each === ask.form.act);
    if (act === undefined) return { goTo: path(ask) };
    try {
      await DO[act](ask);
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status >= 500) throw error;
      return incidentView(ask, { act, values: ask.form, refusal: error });
    }
    return { goTo: `${path(ask)}?done=${act}` };
  }),
];

const ACTS: readonly Act[] = ['acknowledge', 'release', 'silence', 'answer'];
const DONE: ReadonlyMap<string, string> = new Map([
  ['acknowledge', 'It is acknowledged: no more reminders are sent.'],
  ['release', 'It is released: people are reminded of it again.'],
  ['silence', 'It is silenced.'],
  ['end', 'The silence is over: people are alerted of what is still wrong.'],
  ['answer', 'What it was is kept.'],
  ['resumed', 'It is tried with one event now. What became of it shows here by itself.'],
]);

const path = ({ params }: Ask): string => `/incidents/${encodeURIComponent(params.id ?? '')}`;

const DO: Readonly<Record<Act, (ask: Ask) => Promise<unknown>>> = {
  acknowledge: (ask) => ask.api.send('POST', `/v1${path(ask)}/acknowledge`, said(ask, ['note'])),
  release: (ask) => ask.api.send('DELETE', `/v1${path(ask)}/acknowledge`),
  answer: (ask) => ask.api.send('POST', `/v1${path(ask)}/answer`, said(ask, ['cause', 'note'])),
  silence: async (ask) => {
    const incident = await ask.api.get<IncidentDetailsBody>(`/v1${path(ask)}`);
    const { site, state, kind, subscriber } = scopesOf(incident)[Number(ask.form.what)] ?? scopesOf(incident)[0]!;
    const named = Object.entries({ site, state: state?.value ?? null, kind, subscriber }).filter(([, value]) => value !== null);
    const times = { reason: ask.form.reason ?? '', endsAt: ask.form.endsAt ?? '' };
    return ask.api.send('POST', '/v1/silences', { ...Object.fromEntries(named), ...times, ...said(ask, []) });
  },
};

/** What was typed, with who says it. */
function said({ form, caller }: Ask, names: readonly string[]): Record<string, string> {
  return { by: caller.key ?? '', ...filled(form, ['by', ...names]) };
}

async function incidentView(ask: Ask, refused: Refused | null): Promise<View> {
  const { api, base, query } = ask;
  const incident = await api.get<IncidentDetailsBody>(`/v1${path(ask)}`);
  const isOpen = incident.endedAt === null;
  const [silences, { open, atLeast }, customers, { subscribers }] = await Promise.all([
    isOpen ? api.get<{ data: SilenceBody[] }>('/v1/silences', { limit: MOST_SILENCES }) : { data: [] },
    isOpen && ask.mayOperate ? openIncidents(ask) : { open: [], atLeast: false },
    incident.kind === 'stuck' ? api.get<IncidentCustomersBody>(`/v1${path(ask)}/customers`) : null,
    api.get<Pick<OverviewBody, 'subscribers'>>('/v1/overview'),
  ]);
  const hasChannel = subscribers.some(isForPeople);
  const told = isOpen ? await readReceiver(ask, incident, subscribers) : null;
  const done = DONE.get(query.done ?? '');
  const body = html`${head(incident, told, ask)}
${done === undefined ? NOTHING : flash(done)}
<div class="two"><div class="stack">${told !== null ? receiverPanels(told, ask) : customers === null ? html`${advice(incident)}${sent(incident, ask, hasChannel)}` : html`${share(incident, customers)}${causes(incident, ask)}${waiting(incident, customers, ask)}${parts(incident, ask)}`}</div>
<div class="stack">${told === null ? numbers(incident, customers, ask) : receiverNumbers(told, ask)}${told === null ? NOTHING : sent(incident, ask, hasChannel)}${care({ ask, incident, refused, silences: silences.data, open, openAtLeast: atLeast })}${customers === null ? NOTHING : sent(incident, ask, hasChannel)}</div></div>`;
  return {
    ...{ title: `${incident.where}: ${incident.what}`, place: 'incidents', body },
    crumb: html`<a href="${base}/incidents">Incidents</a> / <span class="id">${incident.id}</span>`,
    ...(refused === null ? {} : { status: refused.refusal?.status ?? 400, isLive: false }),
  };
}

function head(incident: IncidentDetailsBody, told: TroubledReceiver | null, ask: Ask): Html {
  const { mayOperate, now } = ask;
  const { severity, where, what, openedAt, reopenedAt, endedAt, owner, acknowledged, answer } = incident;
  const lasted = endedAt === null ? 0 : Math.max(Date.parse(endedAt) - Date.parse(openedAt), 0);
  const state =
    endedAt === null
      ? html`<p class="st ${shapeOf(incident)}">${icon(shapeOf(incident))}<span><b>${severity}</b>, open for ${since(reopenedAt ?? openedAt, now)}, ${incident.endsAt === null ? NOTHING : html`${comingEnd(incident, now)}, `}${owner === null ? 'not acknowledged' : html`acknowledged by ${written(owner)}`}</span></p>`
      : html`<p class="st ok">${icon('ok')}<span>ended, lasted ${length(lasted)}</span></p>`;
  const links: Html[] = [];
  const resume = told === null ? null : receiverActions(incident, told, ask);
  const isFirst = resume === null || resume.button === NOTHING;
  if (endedAt === null && acknowledged === null)
    links.push(html`<a class="btn${isFirst ? ' first' : ''}" href="#care">Acknowledge</a>`);
  if (endedAt === null) links.push(html`<a class="btn" href="#silence">Silence</a>`);
  links.push(html`<a class="btn" href="#answer">${answer === null ? 'Say what it was' : 'Say again what it was'}</a>`);
  if (told !== null) {
    const { name } = told.receiver;
    const open = html`<a class="btn" href="${ask.base}/subscribers/${encodeURIComponent(name)}">Open ${name}</a>`;
    const acts = mayOperate
      ? html`<div class="acts">${resume?.button}${links}${open}</div>${resume?.says}`
      : html`<div class="acts">${open}</div>`;
    return html`<div class="head">${state}
<h1 class="say">${receiverSentence(incident, told, now)}</h1><p class="sub">${receiverReason(told, now)}</p>${acts}</div>`;
  }
  const rests = restsOn(incident);
  return html`<div class="head">${state}
<h1 class="say" data-said>${written(where)}: ${tied(what)}</h1>${rests === '' ? NOTHING : html`<p class="sub">${tied(rests)}</p>`}${mayOperate ? html`<div class="acts">${links}</div>` : NOTHING}</div>`;
}
