/** The acts on a subscriber. An act that sends or takes away says first what will happen to how many deliveries. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { ReplayBody, SubscriberBody } from '../../../api/subscribers/fields.ts';
import type { Undelivered } from '../../../domain/deliveries/delivery-status.ts';
import { EVENT_TYPES } from '../../../domain/events/system-event-types.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { field, refusalNote, type Tried } from '../../parts/fields.ts';
import { panel } from '../../parts/lists.ts';
import { type Receiver, waitingText } from '../../parts/receivers.ts';
import { when } from '../../parts/time.ts';
import { editBegins, editForm } from './edit-form.ts';

/** A dry run that was just made, and what its confirmation is posted with. */
export interface DryRun {
  readonly of: 'replay' | 'retry';
  readonly found: ReplayBody;
  readonly fields: Readonly<Record<string, string>>;
}

/** The values with which a form was posted, and the result; `at` names the form. */
export interface PostedForm extends Tried {
  readonly at: 'edit' | 'replay' | 'retry' | 'rotate' | 'other';
  readonly dryRun: DryRun | null;
}

export const NOTHING_POSTED: PostedForm = { at: 'other', values: {}, refusal: null, dryRun: null };

/** The values typed into one of the forms, or those with which it begins. */
const triedIn = (posted: PostedForm, at: PostedForm['at'], begins: Tried['values'] = {}): Tried =>
  posted.at === at ? posted : { values: begins, refusal: null };
const pathOf = ({ base }: Ask, name: string): string => `${base}/subscribers/${encodeURIComponent(name)}`;

/** Resume, test: the acts that take nothing away. */
export function mainActions({ name, health }: Receiver, ask: Ask): Html {
  const button = (action: string, word: string, kind = '', value = ''): Html =>
    html`<form method="post" action="${pathOf(ask, name)}/${action}"><button class="btn ${kind}"${value !== '' && html` name="status" value="${value}"`}>${word}</button></form>`;
  if (health.status === 'off') return html`<div class="acts">${button('status', 'Switch on', 'first', 'active')}</div>`;
  const isHeld = health.status === 'paused' || health.status === 'unreached';
  return html`<div class="acts">${isHeld && button('resume', 'Resume now', 'first')}${button('test', 'Send a test', isHeld ? '' : 'first')}<a class="btn" href="#replay">Replay</a></div>`;
}

/** Sends the events of a time again, after a dry run. */
export function replayPanel({ name }: SubscriberBody, ask: Ask, posted: PostedForm): Html {
  const tried = triedIn(posted, 'replay', { since: '2h' });
  const dryRun = posted.dryRun?.of === 'replay' ? posted.dryRun : null;
  const types = [{ value: '', word: 'all it gets' }, ...EVENT_TYPES.map((type) => ({ value: type, word: type }))];
  return panel({
    id: 'replay',
    title: 'Replay',
    body: html`<div class="body stack"><form class="stack" method="post" action="${pathOf(ask, name)}/replay"><p class="small">Sends past events again, after all that is new. Receivers drop repeats by <code>webhook-id</code>.</p>${refusalNote(tried, ['since', 'until', 'types'])}
${field({ name: 'since', label: 'From', tried, isRequired: true, longest: 40, hint: 'A duration back such as 2h, or a time with its zone.' })}
${field({ name: 'until', label: 'To', tried, longest: 40, hint: 'Left empty: now.' })}
${field({ name: 'types', label: 'Types', tried, choices: types })}<button class="btn">Count first (dry run)</button></form>${dryRun !== null && confirmation(name, ask, dryRun)}</div>`,
  });
}

const GIVEN_UP: readonly { readonly value: Undelivered; readonly word: string }[] = [
  { value: 'exhausted', word: 'given up after the last try (exhausted)' },
  { value: 'suppressed', word: 'never sent while it was off (suppressed)' },
];

/** Sends again what was given up or never sent, after a dry run. */
export function retryPanel({ name }: SubscriberBody, ask: Ask, posted: PostedForm): Html {
  const tried = triedIn(posted, 'retry');
  const dryRun = posted.dryRun?.of === 'retry' ? posted.dryRun : null;
  return panel({
    id: 'retry',
    title: 'Retry what was not delivered',
    body: html`<div class="body stack"><form class="stack" method="post" action="${pathOf(ask, name)}/retry">${refusalNote(tried, ['status'])}${field({ name: 'status', label: 'Which', tried, choices: GIVEN_UP })}<button class="btn">Count first (dry run)</button></form>${dryRun !== null && confirmation(name, ask, dryRun)}</div>`,
  });
}

/** The result of a dry run; the button repeats the number. */
function confirmation(name: string, ask: Ask, { of, found, fields }: DryRun): Html {
  const { count, waiting, oldest, newest, expectedDrain, note } = found;
  const waits =
    waiting !== 0 &&
    html`<p>${tied(counted(waiting, 'of the time waits', 'of the time wait'))} in any case and ${waiting === 1 ? 'is' : 'are'} not doubled.</p>`;
  if (count === 0)
    return html`<div class="confirm" role="status" tabindex="-1" autofocus><p><b>Nothing would be sent to ${name}.</b></p>${waits}</div>`;
  const deliveries = tied(counted(count, 'delivery', 'deliveries'));
  const verb = of === 'replay' ? 'Replay' : 'Retry';
  return html`<form class="confirm" tabindex="-1" autofocus method="post" action="${pathOf(ask, name)}/${of}">${Object.entries(fields).map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}
<div role="status"><p><b>${deliveries} would be sent to ${name}</b>, of events that happened between ${when(oldest, ask.now)} and ${when(newest, ask.now)}.</p>${waits}
${expectedDrain !== undefined && html`<p>Until all have arrived: ${tied(expectedDrain.text)}.</p>`}${note !== undefined && html`<p><bdi>${note}</bdi></p>`}</div>
<p><button class="btn heavy" name="count" value="${count}">${verb} ${deliveries}</button></p></form>`;
}

/** Editing, a new secret, switching off, removing. */
export function settingsPanel(
  { subscriber, receiver, sites }: { subscriber: SubscriberBody; receiver: Receiver | undefined; sites: OverviewBody['sites'] },
  ask: Ask,
  posted: PostedForm,
): Html {
  const { name, origin, health } = subscriber;
  const path = pathOf(ask, name);
  const names = sites.filter(({ configured }) => configured).map(({ site }) => site);
  const waits = receiver === undefined ? '' : waitingText(receiver);
  const off =
    health.status !== 'off' &&
    html`<details class="same" id="switch-off"><summary>Switch off</summary><form class="body stack" method="post" action="${path}/status"><div class="confirm"><p><b>${name} gets nothing until somebody switches it on.</b> ${waits === '' ? 'Nothing waits for it now.' : `${tied(waits)}; that stays parked.`} What happens from then on is suppressed: it is sent only when somebody retries it.</p><p><button class="btn heavy" name="status" value="off">Switch off ${name}</button></p></div></form></details>`;
  if (origin === 'configuration')
    return panel({
      id: 'change',
      title: 'Change',
      body: html`<div class="body"><p class="small">The settings name ${name}, so it cannot be edited here: its address, secret and filters are changed in the settings, and hold from the next start of the daemon. Here it can be switched off and on.</p></div>${off}`,
    });
  return panel({
    id: 'change',
    title: 'Change',
    body: html`${editForm(subscriber, names, { waits, path }, triedIn(posted, 'edit', editBegins(subscriber)))}${rotateForm(name, path, posted)}${off}
<details class="same" id="remove"><summary>Remove</summary><form class="body stack" method="post" action="${path}/remove"><div class="confirm"><p><b>${name} gets nothing any more, and its address and secret are dropped.</b> ${waits === '' ? 'Nothing waits for it now.' : `${tied(waits)}; that is never sent.`} Its deliveries stay to be read, and its name may be used again.</p><p><button class="btn heavy">Remove ${name}</button></p></div></form></details>`,
  });
}

function rotateForm(name: string, path: string, posted: PostedForm): Html {
  const tried = triedIn(posted, 'rotate', { overlap: '24h' });
  const hint = 'How long the old secret signs, too: 0 ends it at once, 30d at most. Until then the receiver can change over.';
  return html`<details class="same" id="rotate"${tried.refusal !== null && html` open`}><summary>Rotate the secret</summary><form class="body stack" method="post" action="${path}/rotate">${refusalNote(tried, ['overlap'])}${field({ name: 'overlap', label: 'Overlap', tried, isRequired: true, longest: 20, hint })}<button class="btn">Make a new secret for ${name}</button></form></details>`;
}
