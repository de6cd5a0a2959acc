/** Figures of Trends: each leads to the list of its purchases, as long as that has all of them. */
import type { Trends } from '../../../actions/trends/trends.ts';
import { shareOf } from '../../../domain/trends/compare.ts';
import type { ListedEnd } from '../../../domain/trends/ends.ts';
import { apart } from '../../../domain/values/counts.ts';
import type { JsonValue } from '../../../domain/values/exact-json.ts';
import { queryOf } from '../../frame/api-calls.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { valueText } from '../../parts/purchases.ts';

/** Which purchases a figure counts; site and time are those of the page unless given. */
export interface Counted {
  readonly end: ListedEnd;
  readonly site?: string;
  /** Null: no poll showed a state. */
  readonly lastWaited?: { readonly name: string } | null;
  readonly wasStuck?: boolean;
  readonly currency?: string;
  readonly from?: string;
  readonly to?: string;
  /** 1: Monday. It and the hours, such as `14` or `12-14`, are those of clocks in the zone. */
  readonly endedWeekday?: number;
  readonly endedHours?: string;
  readonly zone?: string;
}

export interface ShownTrends {
  readonly ask: Ask;
  readonly trends: Trends;
}

/** The address of the list of these purchases, the newest first. */
export function listAddress({ ask, trends }: ShownTrends, { site, lastWaited, from, to, ...rest }: Counted): string {
  const query = {
    site: site ?? trends.site,
    endedFrom: from ?? trends.from,
    endedTo: to ?? trends.to,
    lastWaited: lastWaited === null ? 'none' : lastWaited?.name,
    ...rest,
    sort: 'newest',
  };
  return `${ask.base}/purchases${queryOf(query)}`;
}

/** A figure with its list; without a link where purchases of it were deleted since, or there are none. */
export function figure(
  shown: ShownTrends,
  counted: Counted,
  { count, gone }: { count: number; gone: number },
  text?: string,
): Html {
  const words = text ?? number(count);
  return count === 0 || gone > 0 ? html`${words}` : html`<a href="${listAddress(shown, counted)}">${words}</a>`;
}

/** `81.6 %`, or that there are too few customers. */
export function percent(share: number | null): string {
  return share === null ? 'too few to say' : tied(`${(share * 100).toFixed(1)} %`);
}

/** The change of a share in percentage points, where it is beyond chance: `−7.9 points`. */
export function changeMark({ change, share, before }: Trends['ways'][number] | Trends['total']): Html {
  if (before.customers === 0) return html`<span class="delta same">nothing before</span>`;
  const was = before.share === null ? '' : html`<small>before ${percent(before.share)}</small>`;
  if (change === 'too_few') return html`<span class="delta same">too few to say</span>${was}`;
  if (change === 'as_before') return html`<span class="delta same">may be chance</span>${was}`;
  const points = ((share ?? 0) - (before.share ?? 0)) * 100;
  return html`<span class="delta ${change === 'worse' ? 'worse' : ''}" title="percentage points">${points < 0 ? '−' : '+'}${Math.abs(points).toFixed(1)} points</span>${was}`;
}

/** `153 883.00 SEK`. */
export function moneyText(amount: unknown, currency: string): string {
  return tied(`${apart(valueText(amount as JsonValue))} ${currency}`);
}

/** The share of those who paid, in words for a title. */
export function paidWords({ customers, paid }: { customers: number; paid: number }): string {
  return `${number(customers)} came, ${number(paid)} paid${shareOf({ customers, paid }) === null ? ', too few to say more' : ''}`;
}
