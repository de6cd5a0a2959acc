/** The silences: those that hold, those to come, those that are over; adding one and ending one. */

import { actorOf } from '../../../api/http/caller.ts';
import type { IncidentBody, SilenceBody } from '../../../api/incidents/fields.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { type Listed, queryOf, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn, page } from '../../frame/page-route.ts';
import { below } from '../../frame/request.ts';
import { filled, type Tried } from '../../parts/fields.ts';
import { flash, nothingHere, panel } from '../../parts/lists.ts';
import { matching, openCount, openIncidents, scopeText } from '../../parts/silences.ts';
import { when } from '../../parts/time.ts';
import { addForm, FIELDS } from './add-form.ts';

const AT_ONCE = 50;
/** Silences that hold or will are few: the sentence counts them. */
const MOST_CURRENT = 200;

export const silencePages = [
  page('/silences', (ask) => silencesView(ask, { values: { by: actorOf(ask.caller), endsAt: '2h' }, refusal: null }, false)),
  action('/silences', async (ask): Promise<View | GoOn> => {
    const { act, id = '', back } = ask.form;
    if (act === 'end') {
      await ask.api.send('DELETE', `/v1/silences/${encodeURIComponent(id)}`);
      return { goTo: `${below(back ?? '/silences')}?done=end` };
    }
    try {
      const { id: added } = await ask.api.send<SilenceBody>('POST', '/v1/silences', silenceOf(ask));
      return { goTo: `/silences?done=${added}` };
    } catch (error) {
      return silencesView(ask, { values: ask.form, refusal: refusalIn(error) }, true);
    }
  }),
];

/** The form as the API takes it: fields that are left empty are left out, but for those that must be given. */
function silenceOf({ form, caller }: Ask): Record<string, unknown> {
  const { everything, ...named } = filled(form, FIELDS);
  const needed = { reason: '', endsAt: '', by: actorOf(caller) };
  return { ...needed, ...named, ...(everything === undefined ? {} : { everything: true }) };
}

async function silencesView(ask: Ask, tried: Tried, isTried: boolean): Promise<View> {
  const { api, base, query } = ask;
  const { cursor, of } = query;
  const [overview, current, over, { open, atLeast }] = await Promise.all([
    api.get<OverviewBody>('/v1/overview'),
    of === 'over'
      ? { data: [], nextCursor: null }
      : api.get<Listed<SilenceBody>>('/v1/silences', { limit: MOST_CURRENT, cursor: of === 'current' ? cursor : null }),
    of === 'current'
      ? { data: [], nextCursor: null }
      : api.get<Listed<SilenceBody>>('/v1/silences', { status: 'over', limit: AT_ONCE, cursor: of === 'over' ? cursor : null }),
    openIncidents(ask),
  ]);
  const held = (silence: SilenceBody): string => openCount(matching(silence, open).length, atLeast);
  const active = current.data.filter((each) => each.status === 'active');
  const coming = current.data.filter((each) => each.status === 'coming');
  const done = query.done === 'end' ? ENDED : doneText(query.done, [...active, ...coming], open);
  const older = (cursor: string | null, which: string): Html | false =>
    cursor !== null && html`<a rel="next" href="${base}/silences${queryOf({ of: which, cursor })}">Older</a>`;
  const list = (id: string, title: string, silences: readonly SilenceBody[], foot: Html | false): Html =>
    silences.length === 0 ? NOTHING : panel({ id, title, body: table(silences, ask, held), foot });
  const isEmpty = current.data.length + over.data.length === 0;
  const body = html`<div class="head"><h1 class="say" data-said>${sentence(active, coming, current.nextCursor !== null || of !== undefined)}</h1></div>
<div class="stack">${done !== null && flash(done)}
${list('active', 'Active', active, older(current.nextCursor, 'current'))}${list('coming', 'Coming', coming, active.length === 0 && older(current.nextCursor, 'current'))}
${isEmpty && nothing(ask)}${addForm(ask, { tried, isTried, overview })}${list('over', 'Over', over.data, older(over.nextCursor, 'over'))}</div>`;
  const refused = isTried ? { status: tried.refusal?.status ?? 400, isLive: false } : {};
  return { title: 'Silences', place: 'silences', crumb: 'Silences', body, ...refused };
}

const ENDED = 'The silence is over: people are alerted of what is still wrong.';

function doneText(id: string | undefined, current: readonly SilenceBody[], open: readonly IncidentBody[]): Html | null {
  const added = current.find((each) => each.id === id);
  if (added === undefined) return null;
  const count = openCount(matching(added, open).length, false);
  return html`${added.id} was added. ${added.status === 'active' ? `It holds back messages of ${count} now.` : `It would hold back messages of ${count} now.`}`;
}

/** `isPart`: the list goes on, so silences that hold may be on another page. */
function sentence(active: readonly SilenceBody[], coming: readonly SilenceBody[], isPart: boolean): string {
  if (isPart) return `Of these, ${active.length} hold and ${coming.length} are to come; other pages have more`;
  if (active.length === 0 && coming.length === 0) return 'No silence holds: people are alerted of every incident';
  const holds = active.length === 1 ? '1 silence holds' : `${active.length} silences hold`;
  if (coming.length === 0) return holds;
  return `${active.length === 0 ? 'No silence holds' : holds}, ${coming.length} ${coming.length === 1 ? 'is' : 'are'} to come`;
}

function table(silences: readonly SilenceBody[], ask: Ask, held: (silence: SilenceBody) => string): Html {
  return html`<table class="cards fits"><thead><tr><th scope="col">About</th><th scope="col">Reason</th><th scope="col">By</th><th scope="col">From</th><th scope="col">Until</th><th scope="col">Is</th></tr></thead>
<tbody data-still>${silences.map((each) => row(each, ask, held))}</tbody></table>`;
}

function row(silence: SilenceBody, ask: Ask, held: (silence: SilenceBody) => string): Html {
  const { id, reason, by, startsAt, endsAt, status: is } = silence;
  const { now } = ask;
  const shown =
    is === 'active'
      ? status('off', 'active')
      : is === 'coming'
        ? status('waiting', 'coming')
        : html`<span class="mute">over</span>`;
  return html`<tr id="row-${id}"><th scope="row"><bdi>${scopeText(silence)}</bdi><small class="id">${id}</small></th><td class="wide"><bdi>${reason}</bdi></td><td class="wide" data-l="by"><bdi>${by}</bdi></td><td data-l="from">${when(startsAt, now)}</td><td data-l="until">${when(endsAt, now)}</td><td class="wide ending">${shown}${!(is === 'over' || !ask.mayOperate) && ending(silence, ask, held(silence))}</td></tr>`;
}

/** The form that ends a silence, and says before what that does. */
function ending({ id, status: is }: SilenceBody, { base }: Ask, count: string): Html {
  const says =
    is === 'active'
      ? `It matches ${count}: people are alerted of what is still wrong, unless another silence holds.`
      : 'It will not begin. What it would have matched is alerted as usual.';
  return html`<details class="quiet" id="end-${id}"><summary>End it</summary><form class="confirm" method="post" action="${base}/silences"><p>${says}</p><input type="hidden" name="id" value="${id}"><button class="btn" name="act" value="end">End ${id}</button></form></details>`;
}

function nothing({ base, origin, mayOperate }: Ask): Html {
  const command = `curl ${origin}/v1/silences -H 'content-type: application/json' -d '{"kind": "unreachable", "reason": "The service moves tonight.", "by": "Kim", "endsAt": "2h"}'`;
  return panel({
    id: 'active',
    title: 'Silences',
    body: nothingHere(
      'There was no silence yet.',
      'While a silence holds, people are alerted of no incident that it matches: for a planned move of the service, say, or a page that is being rebuilt. Webhooks and the feed are not silenced, and incidents are kept as ever.',
      mayOperate
        ? html`Add one below, on the page of <a href="${base}/incidents">an incident</a>, or by the API:`
        : html`A key with the scope operate adds one, here or by the API:`,
      html`<div class="copy"><pre id="example" tabindex="0" role="region" aria-label="A call of the API">${command}</pre><button class="btn" type="button" data-copy="example">Copy</button></div>`,
    ),
  });
}
