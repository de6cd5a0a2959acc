/** The list of purchases: found by how a name begins, filtered by what the address says, page by page, with a choice of rows. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { PurchaseBody } from '../../../api/purchases/purchase-body.ts';
import { stateBoth, stateWords } from '../../../domain/purchases/states.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Listed, queryOf, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, type GoOn, page } from '../../frame/page-route.ts';
import { flash, nothingHere } from '../../parts/lists.ts';
import { amountOf, markOf, purchasePath, valueText } from '../../parts/purchases.ts';
import { since, when } from '../../parts/time.ts';
import { manyDone } from './done.ts';
import { examples } from './examples.ts';
import {
  asked,
  type Filter,
  type FilterProblem,
  fields,
  filterOf,
  filterWords,
  OUTCOME_WORDS,
  orderWords,
  sortOf,
} from './filter.ts';

const SHOWN = 50;

export const listPage = page('/purchases', (ask) => listView(ask));

/** The parts that an act adds to the list. */
interface Acting {
  /** The effect that the act would have, or why it has none. */
  readonly note?: Html;
  /** The fields of the form that was posted: the boxes that were ticked. */
  readonly picked?: Ask['form'];
}

/** The list as the address asks for it; a search that finds one purchase goes on to its page. */
export async function listView(ask: Ask): Promise<View | GoOn>;
export async function listView(ask: Ask, acting: Acting): Promise<View>;
export async function listView(ask: Ask, acting: Acting | null = null): Promise<View | GoOn> {
  const { api, query, base } = ask;
  const filter = filterOf(query);
  const overview = await api.get<OverviewBody>('/v1/overview');
  try {
    const found = await api.get<Listed<PurchaseBody>>('/v1/purchases', { ...asked(filter), cursor: query.cursor, limit: SHOWN });
    const [only, another] = found.data;
    const isOne =
      filter.q !== '' && (query.cursor ?? '') === '' && only !== undefined && another === undefined && found.nextCursor === null;
    if (isOne && acting === null) return { goTo: purchasePath(only) };
    return view(ask, {
      overview,
      filter,
      problem: null,
      count: (query.cursor ?? '') === '' && found.nextCursor === null ? found.data.length : null,
      list: listed(found, filter, ask, acting?.picked ?? {}),
      says: sentence(overview, filter),
      acting,
    });
  } catch (error) {
    // A person may have typed the filter into the address.
    const { errors, message } = refusalIn(error, ({ status: is }) => is === 400);
    const problem = { field: errors[0]?.field ?? null, says: message };
    const list = nothingHere(
      'Nothing is shown before the filter is right.',
      html`<a href="${base}/purchases">Show all purchases</a>`,
    );
    return {
      ...view(ask, {
        overview,
        filter,
        problem,
        count: null,
        list,
        says: 'The filter asks for something that cannot be.',
        acting,
      }),
      status: 400,
    };
  }
}

interface Shown {
  readonly overview: OverviewBody;
  readonly filter: Filter;
  readonly problem: FilterProblem | null;
  /** How many purchases the filter lets through; null: more than one page shows. */
  readonly count: number | null;
  readonly list: Html;
  readonly says: string;
  readonly acting: Acting | null;
}

function view(ask: Ask, { overview, filter, problem, count, list, says, acting }: Shown): View {
  const { base, mayRegister, query } = ask;
  const done =
    query.done === 'forgotten' ? flash('The purchase is erased with everything that was known of it.') : manyDone(query.done);
  const register = mayRegister
    ? html`<a class="btn first" href="${base}/purchases/register">Register purchases</a>`
    : html`<span class="small">Registering purchases needs a key with the scope register.</span>`;
  const csv =
    problem === null && html`<a class="btn" href="${base}/purchases.csv${queryOf(asked(filter))}" download>CSV of this list</a>`;
  const body = html`${done}<div class="head"><h1 class="say">${tied(says)}</h1><p class="sub">${orderWords(filter)}. ${countWords(overview, count)}</p><p class="acts">${register}${csv}</p></div>
<div class="stack"><section class="panel" aria-label="Search and filters">${fields({ overview, filter, problem }, base)}</section>
${acting?.note ?? NOTHING}
<section class="panel purchases" aria-label="Purchases">${list}</section></div>`;
  return { title: 'Purchases', place: 'purchases', crumb: 'Purchases', body, ...(acting !== null && { isLive: false }) };
}

/** A filter's own number first, where it is known. */
function countWords({ purchases: { total } }: OverviewBody, count: number | null): string {
  return count === null ? `${number(total)} are registered.` : `${number(count)} of ${counted(total, 'registered purchase')}.`;
}

function sentence({ purchases }: OverviewBody, filter: Filter): string {
  const words = filterWords(filter);
  if (words !== '') return `Purchases ${words}.`.replace(' ,', ',');
  if (purchases.total === 0) return 'No purchase is registered yet.';
  const stuck = purchases.stuck === 0 ? 'none of them stuck' : `${number(purchases.stuck)} of them stuck`;
  return `${counted(purchases.watching, 'purchase is', 'purchases are')} watched, ${stuck}.`;
}

function listed({ data, nextCursor }: Listed<PurchaseBody>, filter: Filter, ask: Ask, picked: Ask['form']): Html {
  const { base, query, mayOperate } = ask;
  const isFirst = (query.cursor ?? '') === '';
  const all = html`<a href="${base}/purchases">Show all purchases</a>`;
  const link = (word: string, cursor: string | null, rel: string): Html =>
    html`<a rel="${rel}" href="${base}/purchases${queryOf({ ...filter, cursor })}">${word}</a>`;
  if (data.length === 0 && nextCursor !== null) {
    return nothingHere(
      'None was found among those that were looked at so far. The filter lets so few through that the rest was left for the next page.',
      html`${link('Look further', nextCursor, 'next')} · ${all}`,
    );
  }
  if (data.length === 0 && isFirst) {
    const words = filterWords(filter);
    if (words === '') return examples(ask.origin);
    const without =
      filter.q !== '' &&
      filterWords({ ...filter, q: '' }) !== '' &&
      html`<a href="${base}/purchases${queryOf({ q: filter.q })}">Search without the filter</a> · `;
    const register = filter.q !== '' && ask.mayRegister && html` · <a href="${base}/purchases/register">Register it</a>`;
    return nothingHere(
      `There are no purchases ${words}.`,
      'One that was never registered is not here, nor one that was erased or deleted by retention.',
      html`${without}${all}${register}`,
    );
  }
  const isShort = nextCursor !== null && data.length < SHOWN;
  const foot = html`<footer><span>${number(data.length)} shown${isShort ? ' of those that were looked at' : ''}</span>${!isFirst && link('First page', null, 'first')}${nextCursor !== null && link(isShort ? 'Look further' : 'Next', nextCursor, 'next')}<span class="keys"><kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens</span></footer>`;
  return html`${table(data, filter, ask, picked)}${foot}${mayOperate && bar(queryOf(filter), base, picked)}`;
}

/** The acts for the chosen purchases. */
function bar(of: string, base: string, picked: Ask['form']): Html {
  return html`<form class="do-bar" id="choose" method="post" action="${base}/purchases/act${of}"><b data-chosen>With the ticked ones</b><button class="btn" name="act" value="poll">Poll<span class="more-words"> now</span></button><button class="btn" name="act" value="announce">Announce<span class="more-words"> again</span></button><button class="btn" name="act" value="stop">Stop<span class="more-words"> watching</span></button>
<label class="inline"><input type="checkbox" name="all" value="on"${picked.all === 'on' && html` checked`}> all that match, on all pages</label><button class="btn right" type="button" data-choose-none hidden>Choose none</button></form>`;
}

function table(purchases: readonly PurchaseBody[], filter: Filter, ask: Ask, picked: Ask['form']): Html {
  const sort = sortOf(filter);
  const head = (word: string, by: string, way: string): Html =>
    sort === by
      ? html`<th scope="col" class="num" aria-sort="${way}">${word} <span aria-hidden="true">${way === 'descending' ? '↓' : '↑'}</span></th>`
      : html`<th scope="col" class="num"><a href="${ask.base}/purchases${queryOf({ ...filter, sort: by })}">${word}</a></th>`;
  const amount =
    filter.currency === ''
      ? html`<th scope="col" class="num">Amount</th>`
      : head('Amount', sort === 'smallest' ? 'smallest' : 'largest', sort === 'smallest' ? 'ascending' : 'descending');
  const choose = ask.mayOperate && html`<th scope="col"><span class="vh">Choose</span></th>`;
  return html`<table class="cards pick"><caption class="vh">Purchases. ${orderWords(filter)}</caption><thead><tr>${choose}<th scope="col">Order</th>${amount}<th scope="col">What it is now</th>${head('Waited', 'waiting', 'descending')}${head('Came', 'newest', 'descending')}<th scope="col" class="num mid">Next poll</th></tr></thead><tbody data-still>${purchases.map((each) => row(each, ask, picked))}</tbody></table>`;
}

/** So many characters of an id are shown below the order. */
const SHORT_ID = 8;

const tick = (name: string, called: string, picked: Ask['form']): Html =>
  html`<td class="tick"><input type="checkbox" name="${name}" value="on" form="choose" aria-label="Choose ${called}"${picked[name] === 'on' && html` checked`}></td>`;

function row(purchase: PurchaseBody, { base, now, mayOperate }: Ask, picked: Ask['form']): Html {
  const { site, purchaseId, reference, orderReference, outcome, state, stateSince, stuckSince, registeredAt, nextPollAt } =
    purchase;
  const order = orderReference === null ? reference : valueText(orderReference);
  const short = purchaseId.length > SHORT_ID + 4 ? `${purchaseId.slice(0, SHORT_ID)}…` : purchaseId;
  const choose = mayOperate && tick(`pick:${site}/${purchaseId}`, order ?? purchaseId, picked);
  const words = outcome === 'paid' ? 'paid' : OUTCOME_WORDS[outcome];
  const where = `${state === null ? 'not seen yet' : stateWords(state.value)}, ${site}`;
  const whole = `${state === null ? 'not seen yet' : stateBoth(state.name)}, ${site}`;
  const [kind, shape] = markOf(purchase);
  const waits = outcome === 'stuck' || outcome === 'waiting';
  const waited =
    stateSince === null
      ? html`<span class="mute">not known</span>`
      : waits
        ? since(stateSince, now)
        : html`<span class="mute">ended ${when(stateSince, now)}</span>`;
  const stuck = stuckSince !== null && html`, found ${when(stuckSince, now)}`;
  return html`<tr id="row-${encodeURIComponent(site)}-${encodeURIComponent(purchaseId)}">${choose}<th scope="row"><a class="ord" href="${base}${purchasePath(purchase)}"><bdi class="clip" title="${order ?? purchaseId}">${order ?? purchaseId}</bdi></a>${order === null ? html`<small class="mute">no order known</small>` : html`<small class="id" title="${purchaseId}">${short}</small>`}</th>
<td class="num end">${amountOf(purchase) ?? html`<span class="mute">not known</span>`}</td><td class="wide">${status(kind, words, shape)}${stuck}<small class="where" title="${whole}">${where}</small></td>
<td class="num hide">${waited}</td><td class="num hide">${when(registeredAt, now)}</td><td class="num hide mid">${nextPollAt === null ? html`<span class="mute">${purchase.status === 'settled' ? 'none, final' : 'none'}</span>` : when(nextPollAt, now)}</td></tr>`;
}
