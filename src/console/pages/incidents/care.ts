/** Forms of an incident: look after it, silence it, say what it was. People who may only read see who did. */

import { actorOf } from '../../../api/http/caller.ts';
import type { IncidentBody, IncidentDetailsBody, SilenceBody } from '../../../api/incidents/fields.ts';
import { CAUSES, isCauseKey } from '../../../domain/incidents/causes.ts';
import { type Html, html, NOTHING } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { type Choice, field, refusalNote, type Tried } from '../../parts/fields.ts';
import { factsPanel } from '../../parts/lists.ts';
import { matching, openCount, type SilenceScope, scopeText } from '../../parts/silences.ts';
import { when } from '../../parts/time.ts';

export type Act = 'acknowledge' | 'release' | 'silence' | 'answer';

/** The form that was posted last and refused. */
export interface RefusedForm extends Tried {
  readonly act: Act;
}

export interface CareParts {
  readonly ask: Ask;
  readonly incident: IncidentDetailsBody;
  readonly refused: RefusedForm | null;
  /** Silences that hold or will. */
  readonly silences: readonly SilenceBody[];
  /** Open incidents, with which silences are compared. */
  readonly open: readonly IncidentBody[];
  readonly openAtLeast: boolean;
}

const LONGEST = { by: 200, note: 1_000, reason: 500 };

/** The name of the person who acts, as known from the session; else the name of the key; null: the person says it. */
const nameOf = ({ caller }: Ask): string | null => actorOf(caller) || null;

/** The first acts, below the sentence: acknowledge with one tap, then the note for the others. */
export function firstActs(parts: CareParts, keepsParts: string | null, { isFirst = true } = {}): Html {
  const { ask, incident } = parts;
  if (!ask.mayOperate) return NOTHING;
  const { endedAt, acknowledged, answer } = incident;
  const isOwned = acknowledged !== null;
  const links = html`${endedAt === null && html`<a class="btn" href="#silence">Silence</a>`}<a class="btn" href="#answer">${answer === null ? 'Say what it was' : 'Say again what it was'}</a>`;
  const came = html`<a class="btn first" href="${address(parts)}/aftermath">What it came to</a>`;
  if (endedAt !== null) return html`<div class="acts">${incident.kind === 'stuck' && came}${links}</div>`;
  if (isOwned)
    return html`<div class="acts"><a class="btn first" href="#note">${acknowledged.note === null ? 'Add a note' : 'Change the note'}</a>${links}</div>`;
  const tried = triedOf(parts, 'acknowledge');
  const says =
    keepsParts === null
      ? 'No more reminders; people are still alerted when it grows and when it is over.'
      : `Acknowledging the whole keeps who looks after ${keepsParts}.`;
  return html`<form class="first-care" method="post" action="${address(parts)}" id="acknowledge">${refusalNote(tried, ['by', 'note'])}${known(parts, tried)}
<div class="acts"><button class="btn${isFirst ? ' first' : ''}" name="act" value="acknowledge">Acknowledge</button>${links}</div></form><p class="small">${says}</p>`;
}

/** The name in a hidden field where it is known, and in one to fill in where it is not, or was refused. */
function known({ ask }: CareParts, tried: Tried): Html {
  const name = nameOf(ask);
  return name === null || tried.refusal !== null ? who(tried) : html`<input type="hidden" name="by" value="${name}">`;
}

/** All else that a person may do about it. */
export function care(parts: CareParts): Html {
  const { ask, incident } = parts;
  const { endedAt } = incident;
  if (!ask.mayOperate) return html`${owner(incident, ask)}${scopeLine(ask)}`;
  return html`${endedAt === null ? owned(parts) : owner(incident, ask)}${endedAt === null && silencing(parts)}${answering(parts)}`;
}

function scopeLine({ caller }: Ask): Html {
  return html`<p class="small">Acknowledging, silencing and answering need a key with the scope operate; yours has ${caller.scopes.join(', ')}.</p>`;
}

/** The values with which a form begins, or those that were typed before the API refused them. */
function triedOf({ refused, ask }: CareParts, act: Act, begin: Readonly<Record<string, string>> = {}): Tried {
  return refused?.act === act ? refused : { values: { by: actorOf(ask.caller), ...begin }, refusal: null };
}

const address = ({ ask, incident }: CareParts): string => `${ask.base}/incidents/${incident.id}`;

const who = (tried: Tried): Html => field({ name: 'by', label: 'Who', tried, isRequired: true, longest: LONGEST.by });

function owner({ acknowledged, endedAt }: IncidentDetailsBody, { now }: Ask): Html {
  if (acknowledged === null) return NOTHING;
  const { by, at, note } = acknowledged;
  return factsPanel('owner', 'Acknowledged', [
    [endedAt === null ? 'Looks after it' : 'Looked after it', html`<bdi>${by}</bdi>`],
    ['Since', when(at, now)],
    note !== null && ['Note', html`<bdi>${note}</bdi>`],
  ]);
}

/** Who looks after it, the note for the others, and how another person takes it over. */
function owned(parts: CareParts): Html {
  const { incident, ask } = parts;
  if (incident.acknowledged === null) return NOTHING;
  const { by, note } = incident.acknowledged;
  const tried = triedOf(parts, 'acknowledge', { note: note ?? '' });
  const isMine = nameOf(ask) === by;
  const noteField = field({
    name: 'note',
    label: 'Note for the others',
    tried,
    placeholder: 'Taking back the deploy of 14:01',
    longest: LONGEST.note,
  });
  const keep = html`<form class="body stack" method="post" action="${address(parts)}" id="note">${refusalNote(tried, ['by', 'note'])}<input type="hidden" name="by" value="${by}">${noteField}<button class="btn" name="act" value="acknowledge">Keep the note</button></form>`;
  const take = html`<form class="body stack" method="post" action="${address(parts)}"><p class="small">Says that you look after it instead.</p>${who(tried)}<button class="btn" name="act" value="acknowledge">Take it over</button></form>`;
  return html`${owner(incident, ask)}<section class="panel" aria-label="Change who looks after it">${keep}
<form class="body stack" method="post" action="${address(parts)}"><p class="small">Without anybody who looks after it, people are reminded of it again.</p><button class="btn" name="act" value="release">Release it</button></form>
${!isMine && html`<details id="take-over"${opened(parts, 'acknowledge')}><summary>Take it over</summary>${take}</details>`}</section>`;
}

const opened = ({ refused }: CareParts, act: Act): Html => (refused?.act === act ? html` open` : NOTHING);

/** The scopes that a silence made here may have, the narrowest first. */
export function scopesOf(incident: Pick<IncidentDetailsBody, 'kind' | 'site' | 'state' | 'subscriber'>): SilenceScope[] {
  const { kind, site, state, subscriber } = incident;
  const none: SilenceScope = { site: null, state: null, kind: null, subscriber: null };
  if (kind === 'subscriber') return [subscriber === null ? { ...none, kind } : { ...none, subscriber, kind }];
  if (kind === 'replica' || site === null) return [{ ...none, kind }];
  const atSite = { ...none, site };
  return [state === null ? { ...atSite, kind } : { ...atSite, state }, atSite];
}

function silencing(parts: CareParts): Html {
  const { ask, incident, silences, open, openAtLeast } = parts;
  const choices: Choice[] = scopesOf(incident).map((scope, index) => ({
    value: String(index),
    word: `${scopeText(scope)}: ${openCount(matching(scope, open).length, openAtLeast)}`,
  }));
  const tried = triedOf(parts, 'silence', { what: '0', endsAt: '2h' });
  const holding = silences.filter((silence) => matching(silence, [incident]).length > 0);
  const form = html`<details id="silence-more"${opened(parts, 'silence')}><summary>Silence</summary><form id="silence" class="body stack" method="post" action="${address(parts)}">${refusalNote(tried, ['by', 'reason', 'endsAt'])}
<p class="small">While it holds, people are alerted of nothing that it matches, but for the end of what they were alerted of before. Webhooks and the feed are not silenced.</p>
${field({ name: 'what', label: 'What', tried, choices })}${field({ name: 'endsAt', label: 'For, or until', tried, isRequired: true, hint: 'A duration such as 30m, 2h or 1d, or a time with its zone such as 2026-11-20T09:15:00Z; 30 d at most.' })}
${field({ name: 'reason', label: 'Reason', tried, isRequired: true, placeholder: 'A new checkout page', longest: LONGEST.reason })}${who(tried)}
<button class="btn" name="act" value="silence">${choices.length === 1 ? `Silence ${openCount(matching(scopesOf(incident)[0]!, open).length, openAtLeast)}` : 'Silence what is chosen'}</button></form></details>`;
  const list = holding.map(
    (
      silence,
    ) => html`<li>${silence.status === 'active' ? html`Silenced, ends ${when(silence.endsAt, ask.now)}` : html`Will be silenced ${when(silence.startsAt, ask.now)}`}: <bdi>${silence.reason}</bdi><small class="small">${scopeText(silence)}, by <bdi>${silence.by}</bdi></small>
<form method="post" action="${ask.base}/silences"><input type="hidden" name="id" value="${silence.id}"><input type="hidden" name="back" value="/incidents/${incident.id}"><button class="btn" name="act" value="end">End ${silence.id}</button></form></li>`,
  );
  return html`<section class="panel" aria-label="Silence">${list.length !== 0 && html`<ul class="rows">${list}</ul>`}${form}</section>`;
}

/** The answer of a person: the cause and a note. */
export function answered({ answer }: IncidentDetailsBody, { now }: Ask): Html {
  if (answer === null) return NOTHING;
  const { cause, note, by, at } = answer;
  return factsPanel('answered', 'What it was', [
    ['Cause', isCauseKey(cause) ? CAUSES[cause].title : cause],
    ['By', html`<bdi>${by}</bdi><small>${when(at, now)}</small>`],
    note !== null && ['Note', html`<bdi>${note}</bdi>`],
  ]);
}

function answering(parts: CareParts): Html {
  const { answer, causes } = parts.incident;
  const begin = { cause: answer?.cause ?? causes[0]?.cause ?? 'unknown', note: answer?.note ?? '' };
  const tried = triedOf(parts, 'answer', begin);
  const choices = Object.entries(CAUSES).map(([value, { title }]) => ({ value, word: title }));
  return html`<section class="panel" aria-label="Say what it was"><details id="answer-more"${opened(parts, 'answer')}><summary>${answer === null ? 'Say what it was' : 'Say it again'}</summary><form id="answer" class="body stack" method="post" action="${address(parts)}">${refusalNote(tried, ['by', 'note', 'cause'])}
<p class="small">Kept with the incident, and cited when the same happens again. It does not end it.</p>
${field({ name: 'cause', label: 'Cause', tried, choices })}${field({ name: 'note', label: 'Note', tried, isLong: true, longest: LONGEST.note })}${who(tried)}
<button class="btn" name="act" value="answer">Keep the answer</button></form></details></section>`;
}
