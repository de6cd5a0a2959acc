/** Marks on the page of Trends: the form that adds one, and those added last, each with its removal. */
import type { Trends } from '../../../actions/trends/trends.ts';
import { LONGEST_TEXT } from '../../../domain/values/one-line.ts';
import { type Listed, queryOf, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import type { Ask, GoOn } from '../../frame/page-route.ts';
import { field, filled, refusalNote, type Tried } from '../../parts/fields.ts';
import { flash, panel } from '../../parts/lists.ts';
import { instantIn } from '../../parts/local-time.ts';
import { when, zoneName } from '../../parts/time.ts';
import type { ShownTrends } from './figures.ts';

/** As the API names them. */
const FIELDS = ['text', 'site', 'at'] as const;
const AT_ONCE = 10;

type ListedMarks = Listed<Trends['marks'][number]>;

/** The marks added last, of the page's site and of all sites. Throws ApiRefusal. */
export const readMarks = ({ api, query: { site, cursor } }: Ask): Promise<ListedMarks> =>
  api.get<ListedMarks>('/v1/marks', { site, cursor, limit: AT_ONCE });

/** Adds or removes a mark; the address of the form has range and site of the page. `refused` makes the page of a form that was refused. */
export async function changeMarks(ask: Ask, refused: (tried: Tried) => Promise<View>): Promise<View | GoOn> {
  const { api, form, query } = ask;
  const goOn = (done: string): GoOn => ({ goTo: `/trends${queryOf({ range: query.range, site: query.site, done })}` });
  if (form.act === 'remove') {
    await api.send('DELETE', `/v1/marks/${encodeURIComponent(form.id ?? '')}`);
    return goOn('removed');
  }
  try {
    const { at, ...named } = filled(form, FIELDS);
    const moment = at === undefined ? {} : { at: instantIn(at.trim(), zoneName()) };
    const { id } = await api.send<Trends['marks'][number]>('POST', '/v1/marks', { text: '', ...named, ...moment });
    return goOn(id);
  } catch (error) {
    return refused({ values: form, refusal: refusalIn(error) });
  }
}

/** A note about the mark that was just added or removed, from the address; nothing where it names no mark of the list. */
export function markDone({ ask, trends }: ShownTrends, { data }: ListedMarks): Html | false {
  if (ask.query.done === 'removed') return flash('The mark is removed: Trends and incidents do not show it any more.');
  const added = data.find(({ id }) => id === ask.query.done);
  if (added === undefined) return false;
  const isLater = Date.parse(added.at) >= Date.parse(trends.to);
  const later = ` These charts end before that moment; they show it once its ${trends.range === '24h' ? 'hour' : 'day'} is over.`;
  return flash(html`${added.id} was added.${isLater && later}`);
}

/** The list, and the form below it. `sites`: those that a mark can be about. */
export function marksPanels(
  { ask, trends: { range, site } }: ShownTrends,
  { marks, sites, tried }: { marks: ListedMarks; sites: readonly string[]; tried: Tried | null },
): Html {
  const action = `${ask.base}/trends${queryOf({ range, site })}`;
  return html`${marks.data.length > 0 && list(marks, ask, action)}${addForm(ask, { action, site, sites, tried })}`;
}

function list({ data, nextCursor }: ListedMarks, ask: Ask, action: string): Html {
  const { base, query, mayOperate } = ask;
  const older = queryOf({ range: query.range, site: query.site, cursor: nextCursor });
  return panel({
    id: 'marks',
    title: 'Marks',
    note: 'the last added first',
    body: html`<table class="cards fits"><thead><tr><th scope="col">Mark</th><th scope="col">About</th><th scope="col">When</th>${mayOperate && html`<th scope="col"><span class="vh">Remove</span></th>`}</tr></thead><tbody>${data.map((each) => row(each, { ask, action }))}</tbody></table>`,
    foot: nextCursor !== null && html`<a rel="next" href="${base}/trends${older}#marks">Older</a>`,
  });
}

function addForm(
  { base, mayOperate, caller }: Ask,
  { action, site, sites, tried }: { action: string; site: string | null; sites: readonly string[]; tried: Tried | null },
): Html {
  if (!mayOperate)
    return html`<p class="small">Adding and removing marks needs a key with the scope operate; yours has ${caller.scopes.join(', ')}.</p>`;
  const shown = tried ?? { values: { site: site ?? '' }, refusal: null };
  const choices = [{ value: '', word: 'all sites' }, ...sites.map((value) => ({ value, word: value }))];
  return html`<section class="panel" aria-labelledby="mark"><details id="mark-more"${tried !== null && html` open`}><summary id="mark">Mark a moment</summary><form class="body stack" method="post" action="${action}">${refusalNote(shown, FIELDS)}
<p class="small">A mark names a moment, such as a deploy: it stands beside these charts and in incidents. <a href="${base}/docs/http-api.html#marks">CI sends one with one line.</a></p>
<div class="fields">${field({ name: 'text', label: 'Mark', tried: shown, isRequired: true, longest: LONGEST_TEXT, placeholder: 'deploy 4.2', hint: 'a few words; name no person' })}${field({ name: 'site', label: 'Site', tried: shown, choices })}${field({ name: 'at', label: 'When', tried: shown, longest: 40, placeholder: 'now', hint: `now when empty; 10m for ten minutes ago, or a time such as 2026-11-20T09:15 (${zoneName()})` })}</div>
<button class="btn first" name="act" value="add">Mark it</button></form></details></section>`;
}

function row({ id, text, site, at }: ListedMarks['data'][number], { ask, action }: { ask: Ask; action: string }): Html {
  const removal = html`<td class="wide ending"><details class="quiet" id="remove-${id}"><summary>Remove<span class="vh"> ${id}</span></summary><form class="confirm" method="post" action="${action}"><p>Trends and incidents will not show it any more.</p><input type="hidden" name="id" value="${id}"><button class="btn" name="act" value="remove">Remove ${id}</button></form></details></td>`;
  return html`<tr id="row-${id}"><th scope="row"><bdi>${text}</bdi><small class="id">${id}</small></th><td class="wide" data-l="about"><bdi>${site ?? 'all\u00a0sites'}</bdi></td><td data-l="when">${when(at, ask.now)}</td>${ask.mayOperate && removal}</tr>`;
}
