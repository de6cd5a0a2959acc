/** One incident: what is wrong and what that rests on, what to do, what was sent, and what a person does about it. */

import { actorOf } from '../../../api/http/caller.ts';
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentDetailsBody, SilenceBody } from '../../../api/incidents/fields.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn, page } from '../../frame/page-route.ts';
import { filled } from '../../parts/fields.ts';
import { comingEnd, shapeOf } from '../../parts/incidents.ts';
import { flash } from '../../parts/lists.ts';
import { isForPeople } from '../../parts/receivers.ts';
import { openIncidents } from '../../parts/silences.ts';
import { length, since } from '../../parts/time.ts';
import { type Act, answered, type CareParts, care, firstActs, type RefusedForm, scopesOf } from './care.ts';
import { chosenOutcome, customers, share } from './customers.ts';
import { forDeveloper } from './developer.ts';
import { advice, causes, numbers, restsOn, sent } from './facts.ts';
import { moneySentence } from './money.ts';
import { ownedNames, parts as partsOf } from './parts.ts';
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
      return incidentView(ask, { act, values: ask.form, refusal: refusalIn(error) });
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

/** The typed values, with the name of the person. */
function said({ form, caller }: Ask, names: readonly string[]): Record<string, string> {
  return { by: actorOf(caller), ...filled(form, ['by', ...names]) };
}

async function incidentView(ask: Ask, refused: RefusedForm | null): Promise<View> {
  const { api, base, query } = ask;
  const incident = await api.get<IncidentDetailsBody>(`/v1${path(ask)}`);
  const isOpen = incident.endedAt === null;
  const outcome = chosenOutcome(ask);
  const [silences, { open, atLeast }, body, { subscribers }] = await Promise.all([
    isOpen ? api.get<{ data: SilenceBody[] }>('/v1/silences', { limit: MOST_SILENCES }) : { data: [] },
    isOpen && ask.mayOperate ? openIncidents(ask) : { open: [], atLeast: false },
    incident.kind === 'stuck'
      ? api.get<IncidentCustomersBody>(`/v1${path(ask)}/customers`, { outcome: outcome === 'stuck' ? null : outcome })
      : null,
    api.get<Pick<OverviewBody, 'subscribers'>>('/v1/overview'),
  ]);
  const hasChannel = subscribers.some(isForPeople);
  const parts: CareParts = { ask, incident, refused, silences: silences.data, open, openAtLeast: atLeast };
  const messages = sent(incident, ask, hasChannel);
  const told = isOpen ? await readReceiver(ask, incident, subscribers) : null;
  const [main, side] =
    told !== null
      ? [receiverPanels(told, ask), messages]
      : body === null
        ? [html`${advice(incident)}${messages}`, NOTHING]
        : [
            html`${partsOf(body, ask)}${causes(incident, ask)}${share(incident, body)}${customers(incident, body, ask)}`,
            html`${forDeveloper(incident, body, ask)}${messages}`,
          ];
  return {
    title: `${incident.where}: ${incident.what}`,
    place: 'incidents',
    body: html`${told === null ? head(parts, body) : receiverHead(parts, told)}${done(query.done, incident)}
<div class="two incident"><div class="stack">${answered(incident, ask)}${main}</div>
<div class="stack">${told === null ? numbers(incident, body, ask) : receiverNumbers(told, ask)}${side}${care(parts)}</div></div>`,
    crumb: html`<a href="${base}/incidents">Incidents</a> / <span class="id">${incident.id}</span>`,
    ...(refused === null ? {} : { status: refused.refusal?.status ?? 400, isLive: false }),
  };
}

/** The note about the act that was just done; after an acknowledgement, where the note goes. */
function done(act: string | undefined, { acknowledged }: IncidentDetailsBody): Html {
  const says = DONE.get(act ?? '');
  if (says === undefined) return NOTHING;
  const note = act === 'acknowledge' && acknowledged?.note === null && html` <a href="#note">Add a note for the others</a>`;
  return html`<div class="done">${flash(html`${says}${note}`)}</div>`;
}

function head(parts: CareParts, body: IncidentCustomersBody | null): Html {
  const { where, what, endedAt } = parts.incident;
  const owned = endedAt === null && body !== null ? ownedNames(body.places) : null;
  const money = body === null || endedAt !== null ? '' : moneySentence(body);
  const sub = [money, restsOn(parts.incident)].filter((text) => text !== '').join(' ');
  return html`<div class="head">${standing(parts, owned)}
<h1 class="say" data-said><bdi>${where}</bdi>: ${tied(what)}</h1>${sub !== '' && html`<p class="sub">${tied(sub)}</p>`}${firstActs(parts, owned)}</div>`;
}

/** Of an open incident of a subscriber: Resume comes first. */
function receiverHead(parts: CareParts, told: TroubledReceiver): Html {
  const { ask, incident } = parts;
  const { name } = told.receiver;
  const open = html`<a class="btn" href="${ask.base}/subscribers/${encodeURIComponent(name)}">Open ${name}</a>`;
  const { button, says } = ask.mayOperate ? receiverActions(incident, told, ask) : { button: NOTHING, says: NOTHING };
  return html`<div class="head">${standing(parts, null)}
<h1 class="say">${receiverSentence(incident, told, ask.now)}</h1><p class="sub">${receiverReason(told, ask.now)}</p>
<div class="acts">${button}${open}</div>${says}${firstActs(parts, null, { isFirst: button === NOTHING })}</div>`;
}

/** Severity, since when, and who looks after it. */
function standing({ incident, ask: { now } }: CareParts, owned: string | null): Html {
  const { severity, openedAt, reopenedAt, endedAt, endsAt, owner } = incident;
  if (endedAt !== null) {
    const lasted = Math.max(Date.parse(endedAt) - Date.parse(openedAt), 0);
    return html`<p class="st ok">${icon('ok')}<span>ended, lasted ${length(lasted)}</span></p>`;
  }
  const shape = shapeOf(incident);
  const ends = endsAt !== null && html`${comingEnd(incident, now)}, `;
  const who =
    owner !== null
      ? html`acknowledged by <bdi>${owner}</bdi>`
      : owned === null
        ? 'not acknowledged'
        : html`acknowledged for <bdi>${owned}</bdi> alone`;
  return html`<p class="st ${shape}">${icon(shape)}<span><b>${severity}</b>, open for ${since(reopenedAt ?? openedAt, now)}, ${ends}${who}</span></p>`;
}
