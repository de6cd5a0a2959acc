/** The list of purchases: found by id or reference, filtered by what the address says, page by page. */
import type { OverviewBody } from '../../../api/health/overview.ts';
import type { PurchaseBody } from '../../../api/purchases/purchase-body.ts';
import { PURCHASE_STATUSES } from '../../../domain/purchases/purchase.ts';
import { STATE_NAMES, stateBoth, statePlace, stateValue } from '../../../domain/purchases/states.ts';
import { counted } from '../../../domain/values/counts.ts';
import { ApiRefusal } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon, type Shape } from '../../frame/icons.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { flash, nothingHere, written } from '../../parts/lists.ts';
import { amountOf, purchaseLink, purchasePath, stateStatus, valueText } from '../../parts/purchases.ts';
import { since, when } from '../../parts/time.ts';
import { examples } from './examples.ts';
import { type Filter, type Found, findByText } from './search.ts';

const SHOWN = 50;
const NAMES = ['site', 'status', 'state', 'stuck', 'reference'] as const;

export const listPage = page('/purchases', async (ask) => {
  const { api, query } = ask;
  const text = (query.q ?? '').trim();
  const filter = Object.fromEntries(NAMES.map((name) => [name, query[name] ?? ''])) as unknown as Filter;
  const overview = await api.get<OverviewBody>('/v1/overview');
  if (text !== '') {
    const found = await findByText(api, text, { filter, sites: overview.sites });
    const [only, another] = found.shown;
    if (only !== undefined && another === undefined && !found.hasMore) return { goTo: purchasePath(only) };
    return view(ask, { overview, filter, text, list: searched(found, text, ask), says: searchSentence(found, text) });
  }
  try {
    const { data, nextCursor } = await api.get<Page>('/v1/purchases', { ...filter, cursor: query.cursor, limit: SHOWN });
    return view(ask, {
      overview,
      filter,
      text,
      list: listed({ data, nextCursor }, filter, ask),
      says: sentence(overview, filter),
    });
  } catch (error) {
    // What the address filters by may have been typed.
    if (!(error instanceof ApiRefusal) || error.status !== 400) throw error;
    const list = nothingHere(error.message, html`<a href="${ask.base}/purchases">Show all purchases</a>`);
    return {
      ...view(ask, { overview, filter, text, list, says: 'The address asks for something that cannot be filtered by.' }),
      status: 400,
    };
  }
});

interface Page {
  readonly data: PurchaseBody[];
  readonly nextCursor: string | null;
}

interface Shown {
  readonly overview: OverviewBody;
  readonly filter: Filter;
  readonly text: string;
  readonly list: Html;
  readonly says: string;
}

function view(ask: Ask, { overview, filter, text, list, says }: Shown) {
  const { base, mayRegister, query } = ask;
  const done = query.done === 'forgotten' ? flash('The purchase is erased with everything that was known of it.') : NOTHING;
  const register = mayRegister
    ? html`<p class="acts"><a class="btn first" href="${base}/purchases/register">Register purchases</a></p>`
    : html`<p class="small">Registering purchases needs a key with the scope register.</p>`;
  const body = html`${done}<div class="head"><h1 class="say">${tied(says)}</h1><p class="sub">Newest registration first. ${number(overview.purchases.total)} are registered.</p>${register}</div>
<div class="stack"><section class="panel" aria-label="Search and filters"><div class="body stack">${fields({ overview, filter, text }, base)}${chips(overview, filter, base)}</div></section>
<section class="panel" aria-label="Purchases">${list}</section></div>`;
  return { title: 'Purchases', place: 'purchases', crumb: 'Purchases', body } as const;
}

function fields({ overview, filter, text }: Pick<Shown, 'overview' | 'filter' | 'text'>, base: string): Html {
  const choice = (name: keyof Filter, label: string, values: readonly string[], word = (value: string) => value): Html =>
    html`<label>${label} <select name="${name}"><option value="">all</option>${withChosen(values, filter[name]).map((value) => html`<option value="${value}"${value === filter[name] ? html` selected` : NOTHING}>${word(value)}</option>`)}</select></label>`;
  const stuck = html`<label>Stuck <select name="stuck"><option value="">all</option>${(['true', 'false'] as const).map((value) => html`<option value="${value}"${value === filter.stuck ? html` selected` : NOTHING}>${value === 'true' ? 'stuck' : 'not stuck'}</option>`)}</select></label>`;
  return html`<form class="fields" role="search" aria-label="Filter" action="${base}/purchases"><label class="grow">Purchase id or your reference <input name="q" type="search" value="${text}" maxlength="400" autocomplete="off"></label>
${choice(
  'site',
  'Site',
  overview.sites.map(({ site }) => site),
)}${choice('status', 'Status', PURCHASE_STATUSES)}${choice('state', 'State', STATE_NAMES, stateBoth)}${stuck}
${filter.reference === '' ? NOTHING : html`<label>Reference <input name="reference" value="${filter.reference}" maxlength="400"></label>`}<button class="btn">Show</button></form>`;
}

/** The choices, with what the address says where that is none of them: such as the number of a state that has no name. */
function withChosen(values: readonly string[], chosen: string): readonly string[] {
  return chosen === '' || values.includes(chosen) ? values : [...values, chosen];
}

/** Filters that people want most, with their counts. */
function chips({ purchases }: OverviewBody, filter: Filter, base: string): Html {
  const at = purchases.groups.filter(({ site }) => filter.site === '' || site === filter.site);
  const sum = (of: (group: (typeof at)[number]) => number): number => at.reduce((total, group) => total + of(group), 0);
  const withStatus = (status: string): number => sum((group) => (group.status === status ? group.count : 0));
  const chip = (word: string, chosen: Partial<Filter>, mark: readonly [Shape, number] | null): Html => {
    const query = queryOf({ site: filter.site, ...chosen });
    const isCurrent = NAMES.every((name) => name === 'site' || filter[name] === (chosen[name] ?? ''));
    return html`<a class="chip" href="${base}/purchases${query}"${isCurrent ? html` aria-current="true"` : NOTHING}>${mark === null ? word : html`${icon(mark[0], mark[0])}${word} ${number(mark[1])}`}</a>`;
  };
  return html`<nav class="filters" aria-label="Quick filters">${chip('all', {}, null)}${chip('stuck', { stuck: 'true' }, ['stuck', sum(({ stuck }) => stuck)])}
${chip('watching', { status: 'watching' }, ['waiting', withStatus('watching')])}${chip('settled', { status: 'settled' }, ['final', withStatus('settled')])}
${chip('unreadable', { status: 'unreadable' }, ['warning', withStatus('unreadable')])}${chip('expired', { status: 'expired' }, ['off', withStatus('expired')])}${chip('stopped', { status: 'stopped' }, ['off', withStatus('stopped')])}
<span class="mute">The address of this page keeps the filter.</span></nav>`;
}

function queryOf(values: Readonly<Record<string, string | null | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] != null && entry[1] !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

function sentence({ purchases }: OverviewBody, filter: Filter): string {
  const words = filterWords(filter);
  if (words !== '') return `Purchases ${words}.`;
  if (purchases.total === 0) return 'No purchase is registered yet.';
  const stuck = purchases.stuck === 0 ? 'none of them stuck' : `${number(purchases.stuck)} of them stuck`;
  return `${counted(purchases.watching, 'purchase is', 'purchases are')} watched, ${stuck}.`;
}

/** A state of the address: a name, a number, or other text. */
function placeOf(state: string): string {
  const value = stateValue(state);
  return value === null ? `in ${state}` : statePlace(value);
}

/** What a filter asks for, in words: `at demo-se waiting for a Finnish bank that are stuck`. */
function filterWords({ site, status, state, stuck, reference }: Filter): string {
  return [
    ...(site === '' ? [] : [`at ${site}`]),
    ...(state === '' ? [] : [placeOf(state)]),
    ...(status === '' ? [] : [`with the status ${status}`]),
    ...(stuck === '' ? [] : [stuck === 'true' ? 'that are stuck' : 'that are not stuck']),
    ...(reference === '' ? [] : [`with the reference ${reference}`]),
  ].join(' ');
}

function searchSentence({ shown, leftOut }: Found, text: string): string {
  const named = `“${text.length > 60 ? `${text.slice(0, 60)}…` : text}”`;
  if (shown.length > 0) return `${counted(shown.length, 'purchase has', 'purchases have')} the id or reference ${named}.`;
  if (leftOut.length > 0) return `The filter leaves out what was found for ${named}.`;
  return `No purchase has the id or reference ${named}.`;
}

function searched({ shown, leftOut, hasMore }: Found, text: string, ask: Ask): Html {
  const { base } = ask;
  if (shown.length > 0) {
    const rest = hasMore ? html`<a href="${base}/purchases${queryOf({ reference: text })}">All with this reference</a>` : NOTHING;
    return table(shown, ask, rest);
  }
  const all = html`<a href="${base}/purchases">Show all purchases</a>`;
  if (leftOut.length > 0) {
    const [first] = leftOut;
    const where = html`Found were ${counted(leftOut.length, 'purchase')}: ${purchaseLink(first!, base)} at ${first!.site}, ${stateStatus(first!)}${leftOut.length > 1 ? ' and others' : ''}.`;
    return nothingHere(where, html`<a href="${base}/purchases${queryOf({ q: text })}">Search without the filter</a> · ${all}`);
  }
  return nothingHere(
    html`Ids and references are compared as a whole, letter by letter: ${written(text)} is neither. The order reference of the checkout service is shown in the list, and cannot be searched for.`,
    'A purchase that was never registered is not here, nor one that was erased or deleted by retention.',
    html`${all}${ask.mayRegister ? html` · <a href="${base}/purchases/register">Register it</a>` : NOTHING}`,
  );
}

function listed({ data, nextCursor }: Page, filter: Filter, ask: Ask): Html {
  const { base, query } = ask;
  const isFirst = (query.cursor ?? '') === '';
  if (data.length === 0 && isFirst) {
    const words = filterWords(filter);
    if (words === '') return examples(ask.origin);
    return nothingHere(
      `No purchase ${words === '' ? '' : `is registered ${words}`}.`,
      html`<a href="${base}/purchases">Show all purchases</a>`,
    );
  }
  const link = (word: string, cursor: string | null): Html =>
    html`<a href="${base}/purchases${queryOf({ ...filter, cursor })}">${word}</a>`;
  return table(
    data,
    ask,
    html`${isFirst ? NOTHING : link('Newest', null)}${nextCursor === null ? NOTHING : link('Older', nextCursor)}`,
  );
}

function table(purchases: readonly PurchaseBody[], ask: Ask, links: Html): Html {
  return html`<div><table class="cards"><caption class="vh">Purchases, newest registration first</caption><thead><tr><th scope="col">Purchase</th><th scope="col">Reference</th><th scope="col" class="mid">Site</th><th scope="col">State</th><th scope="col" class="num">For</th><th scope="col" class="num">Amount</th><th scope="col" class="num mid">Polled</th><th scope="col" class="num">Next poll</th><th scope="col" class="num mid">Polls</th></tr></thead><tbody data-still>${purchases.map((each) => row(each, ask))}</tbody></table></div>
<footer><span>${number(purchases.length)} shown</span><span><kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens</span>${links}</footer>`;
}

function row(purchase: PurchaseBody, { base, now }: Ask): Html {
  const { site, reference, orderReference, stateSince, lastPolledAt, nextPollAt, polls, status } = purchase;
  const name = reference ?? (orderReference === null ? null : valueText(orderReference));
  const none = status === 'settled' ? 'none, final' : 'none';
  return html`<tr id="row-${site}-${purchase.purchaseId}"><th scope="row">${purchaseLink(purchase, base)}</th><td class="end">${name === null ? html`<span class="mute">none</span>` : written(name)}</td><td class="hide mid">${site}</td><td class="wide">${stateStatus(purchase)}</td>
<td class="num left" data-l="for">${stateSince === null ? html`<span class="mute">not known</span>` : since(stateSince, now)}</td><td class="num end">${amountOf(purchase) ?? html`<span class="mute">not known</span>`}</td>
<td class="num hide mid mute">${when(lastPolledAt, now)}</td><td class="num hide">${nextPollAt === null ? none : when(nextPollAt, now)}</td><td class="num hide mid">${number(polls)}</td></tr>`;
}
