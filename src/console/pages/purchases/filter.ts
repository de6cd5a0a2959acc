/** The filter in the address of the list, and the form that writes it. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { OUTCOMES } from '../../../domain/purchases/outcome.ts';
import { STATE_NAMES, stateBoth, statePlace, stateValue, stateWords } from '../../../domain/purchases/states.ts';
import type { ListedEnd } from '../../../domain/trends/ends.ts';
import { queryOf } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import { icon, type Shape } from '../../frame/icons.ts';
import { instantIn } from '../../parts/local-time.ts';
import { dayTime, WEEKDAYS, zoneName } from '../../parts/time.ts';

/** Of what pages count: they are in the address alone. */
const ENDED = ['endedFrom', 'endedTo', 'endedWeekday', 'endedHours', 'zone', 'end', 'lastWaited', 'wasStuck'] as const;

const NAMES = [
  'q',
  'site',
  'state',
  'outcome',
  'from',
  'to',
  'least',
  'most',
  'currency',
  'sort',
  'status',
  'stuck',
  'reference',
  ...ENDED,
] as const;

/** As the parameters of the API are called; empty text filters nothing. Times are those of the page's zone. */
export type Filter = Readonly<Record<(typeof NAMES)[number], string>>;

/** The filter that an address asks for. */
export function filterOf(query: Readonly<Record<string, string>>): Filter {
  return Object.fromEntries(NAMES.map((name) => [name, (query[name] ?? '').trim()])) as unknown as Filter;
}

/** The order of the list: by waiting, and for a search the newest first, unless the address says it. */
export const sortOf = ({ sort, q, endedFrom }: Filter): string =>
  sort !== '' ? sort : q === '' && endedFrom === '' ? 'waiting' : 'newest';

/** The filter as the API takes it. */
export function asked(filter: Filter): Filter {
  return { ...filter, sort: sortOf(filter), from: instantIn(filter.from, zoneName()), to: instantIn(filter.to, zoneName()) };
}

export const OUTCOME_WORDS: Readonly<Record<(typeof OUTCOMES)[number], string>> = {
  stuck: 'stuck',
  waiting: 'waiting',
  paid: 'paid, never stuck',
  paid_late: 'paid late',
  not_paid: 'not paid',
  unreadable: 'unreadable',
  expired: 'given up',
  stopped: 'stopped',
};

const SORT_WORDS = {
  waiting: 'longest waiting',
  newest: 'newest',
  largest: 'largest amount',
  smallest: 'smallest amount',
} as const;

/** The form of all filters, folded where there is little room. */
export function fields(
  { overview, filter, problem }: { overview: OverviewBody; filter: Filter; problem: FilterProblem | null },
  base: string,
): Html {
  const wrong = (name: string): Html =>
    problem?.field === name ? html` aria-invalid="true" aria-describedby="filter-problem"` : NOTHING;
  const choice = (name: keyof Filter, label: string, values: readonly string[], word = (value: string): string => value): Html =>
    html`<label>${label} <select name="${name}"${wrong(name)}><option value="">all</option>${options(values, filter[name], word)}</select></label>`;
  const text = (name: keyof Filter, label: string, more: Html): Html =>
    html`<input name="${name}" value="${filter[name]}" aria-label="${label}"${more}${wrong(name)}>`;
  const time = (name: 'from' | 'to', label: string): Html => text(name, label, html` type="datetime-local"`);
  const amount = (name: 'least' | 'most', label: string): Html =>
    text(name, label, html` inputmode="decimal" size="7" placeholder="${name}" autocomplete="off"`);
  const hidden = (['status', 'stuck', 'reference', ...ENDED] as const).flatMap((name) =>
    filter[name] === '' ? [] : [html`<input type="hidden" name="${name}" value="${filter[name]}">`],
  );
  const sites = overview.sites.map(({ site }) => site);
  const isOpen = problem !== null || NAMES.some((name) => name !== 'q' && filter[name] !== '');
  return html`<form class="body stack filter" role="search" aria-label="Filter" action="${base}/purchases">${hidden}
<div class="fields"><label class="grow">Order, reference or id; its beginning is enough <input name="q" type="search" value="${filter.q}" placeholder="ORD-10" maxlength="200" autocomplete="off"${wrong('q')}></label><button class="btn">Show</button></div>
<details class="fold" id="more"${isOpen && html` open`}><summary>Site, state, outcome, time, amount, sort</summary><div class="stack">
<div class="fields even">${choice('site', 'Site', sites)}${choice('state', 'State', STATE_NAMES, stateBoth)}${choice('outcome', 'Outcome', OUTCOMES, (value) => OUTCOME_WORDS[value as 'paid'])}<label>Sort <select name="sort"${wrong('sort')}><option value="">as usual</option>${options(Object.keys(SORT_WORDS), filter.sort, (value) => SORT_WORDS[value as 'newest'])}</select></label></div>
<div class="fields"><fieldset class="lab times"><legend>Registered, ${zoneName()}</legend><div class="pair">${time('from', 'Registered since')}<span>to</span>${time('to', 'Registered before')}</div></fieldset>
<fieldset class="lab amounts"><legend>Amount</legend><div class="pair">${amount('least', 'Least amount')}<span>to</span>${amount('most', 'Most amount')}${text('currency', 'Currency', html` size="4" maxlength="20" placeholder="SEK" autocomplete="off"`)}</div></fieldset></div></div></details>
${problem !== null && html`<p class="problem" id="filter-problem" role="alert">${icon('warning')} ${problem.says}</p>`}
${chips(overview, filter, base)}</form>`;
}

/** The API's refusal of a filter. */
export interface FilterProblem {
  readonly field: string | null;
  readonly says: string;
}

/** The choices, with what the address says where that is none of them: such as the number of a state that has no name. */
function options(values: readonly string[], chosen: string, word: (value: string) => string): Html[] {
  const all = chosen === '' || values.includes(chosen) ? values : [...values, chosen];
  return all.map(
    (value) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${values.includes(value) ? word(value) : value}</option>`,
  ) as Html[];
}

/** Filters that people want most, with their counts where the counters have them. */
function chips({ purchases }: OverviewBody, filter: Filter, base: string): Html {
  const at = purchases.groups.filter(({ site }) => filter.site === '' || site === filter.site);
  const sum = (of: (group: (typeof at)[number]) => number): number => at.reduce((total, group) => total + of(group), 0);
  const chip = (word: string, outcome: string, mark: Shape | null, count: number | null): Html => {
    const isCurrent = NAMES.every(
      (name) => name === 'site' || name === 'sort' || filter[name] === (name === 'outcome' ? outcome : ''),
    );
    return html`<a class="chip" href="${base}/purchases${queryOf({ site: filter.site, outcome, sort: filter.sort })}"${isCurrent && html` aria-current="true"`}>${mark !== null && icon(mark, mark === 'paid' ? 'ok' : mark)}${word}${count === null ? '' : ` ${number(count)}`}</a>`;
  };
  const stuck = sum((group) => group.stuck);
  const withStatus = (status: string): number => sum((group) => (group.status === status ? group.count - group.stuck : 0));
  return html`<nav class="filters" aria-label="Quick filters">${chip('all', '', null, null)}${chip('stuck', 'stuck', 'stuck', stuck)}${chip('waiting', 'waiting', 'waiting', withStatus('watching'))}${chip('paid late', 'paid_late', 'paid', null)}${chip('not paid', 'not_paid', 'final', null)}
${chip('unreadable', 'unreadable', 'warning', withStatus('unreadable'))}${chip('given up', 'expired', 'off', withStatus('expired'))}${chip('stopped', 'stopped', 'off', withStatus('stopped'))}<span class="mute">The address keeps all of it.</span></nav>`;
}

/** A filter's purchases in words: `at demo-se waiting for a Finnish bank that are stuck`; empty for no filter. */
export function filterWords(filter: Filter): string {
  const { q, site, state, outcome, from, to, least, most, currency, status, stuck, reference } = filter;
  const { endedFrom, endedTo, end, lastWaited, wasStuck } = filter;
  const week = weekWords(filter);
  const waited = stateValue(lastWaited);
  const value = stateValue(state);
  const words: readonly (readonly [given: string, words: string])[] = [
    [site, `at ${site}`],
    [state, value === null ? `in ${state}` : statePlace(value)],
    [outcome, `that are ${OUTCOME_WORDS[outcome as 'paid'] ?? outcome}`],
    [status, `with the status ${status}`],
    [stuck, stuck === 'true' ? 'that are stuck' : 'that are not stuck'],
    [reference, `with the reference ${reference}`],
    [q, `whose order, reference or id begins with “${q.length > 60 ? `${q.slice(0, 60)}…` : q}”`],
    [from, `registered since ${from.replace('T', ' ')}`],
    [to, `${from === '' ? 'registered ' : ''}before ${to.replace('T', ' ')}`],
    [end, END_WORDS[end as 'paid'] ?? `, ${end}`],
    [wasStuck, wasStuck === 'true' ? ', stuck before they ended' : ', never stuck'],
    [lastWaited, waited === null ? ', of which no poll showed a state' : `, last ${stateWords(waited)}`],
    [week, `, ended ${week}`],
    [endedFrom, `${week === '' ? ', ended ' : ''}since ${momentText(endedFrom)}`],
    [endedTo, `${endedFrom === '' ? ', ended ' : 'and '}before ${momentText(endedTo)}`],
    [least, `of ${least} ${currency} or more`],
    [most, `of ${most} ${currency} or less`],
    [least === '' && most === '' ? currency : '', `in ${currency}`],
  ];
  return words
    .flatMap(([given, text]) => (given === '' ? [] : [text]))
    .join(' ')
    .replaceAll(' ,', ',');
}

const END_WORDS: Readonly<Record<ListedEnd, string>> = {
  customer: ', one for each customer',
  counted: ', paid, not paid or still open',
  paid: ', paid',
  paid_by_another: ', paid by another purchase of the order',
  not_paid: ', not paid',
  open: ', still open when the daemon stopped polling them',
};

/** `on Mondays between 12 and 15 h`, with the zone where it is not the page's; empty without weekday and hours. */
function weekWords({ endedWeekday, endedHours, zone }: Filter): string {
  const [first = '', last = first] = endedHours.split('-');
  const words = [
    ...(endedWeekday === '' ? [] : [`on ${WEEKDAYS[Number(endedWeekday) - 1] ?? endedWeekday}`]),
    ...(endedHours === '' ? [] : [`between ${first} and ${Number(last) + 1} h`]),
  ];
  const clocks = zone === '' ? 'UTC' : zone;
  return [...words, ...(words.length === 0 || clocks === zoneName() ? [] : [`(${clocks})`])].join(' ');
}

function momentText(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : dayTime(at);
}

/** The order, as a sentence begins with it. */
export function orderWords(filter: Filter): string {
  const sort = sortOf(filter);
  if (sort === 'waiting') return 'The longest waiting first, then the newest';
  if (sort === 'largest' || sort === 'smallest')
    return `The ${sort} amount first; purchases without an amount are not in this list`;
  return 'The newest first';
}
