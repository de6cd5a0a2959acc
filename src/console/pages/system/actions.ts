/** The changes that people and programs made, by whom and from where. */
import type { ActionBody } from '../../../api/access/actions.ts';
import { type Listed, queryOf } from '../../frame/api-calls.ts';
import { type Html, html } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { when } from '../../parts/time.ts';

const DOORS = [
  ['', 'all'],
  ['console', 'the console'],
  ['api', 'the API'],
  ['cli', 'commands'],
] as const;

export const actionPages = [
  page('/system/actions', async (ask) => {
    const { key = '', via = '', about = '', cursor = null } = ask.query;
    const { data, nextCursor } = await ask.api.get<Listed<ActionBody>>('/v1/actions', { key, via, about, cursor, limit: 50 });
    const foot =
      nextCursor !== null &&
      html`<a class="btn" href="${ask.base}/system/actions${queryOf({ key, via, about, cursor: nextCursor })}">Older</a>`;
    const isFiltered = key !== '' || via !== '' || about !== '';
    const list = data.length === 0 ? none(isFiltered) : table(data, ask);
    const body = html`<div class="head"><h1 class="say">Actions</h1><p class="sub">What people and programs changed through console, API and commands, the latest first. Registrations are not among it.</p></div>
<div class="stack">${filters({ key, via, about }, ask)}
${panel({ id: 'actions', title: 'Actions', body: list, foot })}</div>`;
    return { title: 'Actions', place: 'system', crumb: html`<a href="${ask.base}/system">System</a> / Actions`, body };
  }),
];

function filters({ key, via, about }: { key: string; via: string; about: string }, { base }: Ask): Html {
  return html`<form class="fields" action="${base}/system/actions"><label>Made through <select name="via">${DOORS.map(([value, word]) => html`<option value="${value}"${value === via && html` selected`}>${word}</option>`)}</select></label>
<label>Key <input name="key" value="${key}" maxlength="200"></label><label>About the id <input name="about" value="${about}" maxlength="200"></label><button class="btn">Show</button></form>`;
}

function none(isFiltered: boolean): Html {
  if (isFiltered) return nothingHere('No action matches. Kept actions go back as far as events do.');
  return nothingHere(
    'Nothing was changed yet.',
    'Here stands each acknowledgement, silence, new secret, replay and sign-in: when, by whom, with which key, from where.',
  );
}

function table(actions: readonly ActionBody[], { now }: Ask): Html {
  const row = ({ id, at, key, person, address, via, call, subject, outcome }: ActionBody): Html =>
    html`<tr id="row-${id}"><th scope="row"><code>${call}</code></th><td class="end">${when(at, now)}</td><td data-l="about" class="wide">${subjectText(subject)}</td><td data-l="who" class="wide">${person === null ? html`<span class="mute">–</span>` : html`<bdi>${person}</bdi>`}</td><td data-l="key" class="wide">${key === null ? html`<span class="mute">no key</span>` : html`<bdi>${key}</bdi>`}</td><td data-l="through" class="wide">${via}</td><td data-l="from" class="wide"><bdi>${address}</bdi></td><td class="word">${outcome === 'done' ? status('ok', 'done') : status('warning', 'failed')}</td></tr>`;
  return html`<table class="cards fits"><thead><tr><th scope="col">What</th><th scope="col">When</th><th scope="col">About</th><th scope="col">Who</th><th scope="col">Key</th><th scope="col">Through</th><th scope="col">From</th><th scope="col">Outcome</th></tr></thead><tbody data-still>${actions.map(row)}</tbody></table>`;
}

function subjectText(subject: ActionBody['subject']): Html {
  const texts = Object.entries(subject).map(([name, value]) => (name === 'id' ? String(value) : `${name} ${value}`));
  return texts.length === 0 ? html`<span class="mute">–</span>` : html`<bdi>${texts.join(', ')}</bdi>`;
}
