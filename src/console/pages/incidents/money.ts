/** The money that waits, everywhere in the same words. */
import type { ListedIncidentBody } from '../../../api/incidents/fields.ts';
import { apart, counted } from '../../../domain/values/counts.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';

type Money = NonNullable<ListedIncidentBody['money']>;

/** `16 482.50 SEK, 99.00 EUR`, and for how many orders no amount is known. */
export function moneyWaiting({ waiting, unpriced, atLeast }: Omit<Money, 'counted'>): Html {
  const sums = sumsOf({ waiting });
  const unknown =
    unpriced !== 0 &&
    html` <small>${sums.length === 0 ? '' : 'and '}${counted(unpriced, 'order')} without a known amount</small>`;
  return html`${atLeast ? 'at least ' : ''}${sums.length > 0 ? sums.join(', ') : unpriced > 0 ? 'not known' : 'none'}${unknown}`;
}

/** The money that waits, a currency a line, and of how many purchases. */
export function moneyLines(money: Money): Html {
  const { unpriced, atLeast, counted: count } = money;
  const lines = sumsOf(money).map((sum) => html`<span class="line">${atLeast ? 'at least ' : ''}${sum}</span>`);
  const of = atLeast ? `of the ${number(count)} purchases that wait longest` : `all ${counted(count, 'purchase')} counted`;
  const unknown = unpriced === 0 ? '' : `, ${number(unpriced)} without a known amount`;
  return html`${lines.length === 0 ? 'not known' : lines}<small>${of}${unknown}</small>`;
}

/** `18 930.50 SEK, 7 104 NOK and 212.40 EUR wait.`, as a sentence; empty when no amount is known. */
export function moneySentence(money: Money): string {
  const sums = sumsOf(money);
  if (sums.length === 0) return '';
  const list = sums.length === 1 ? sums[0]! : `${sums.slice(0, -1).join(', ')} and ${sums.at(-1)!}`;
  return `${money.atLeast ? 'At least ' : ''}${list} ${sums.length === 1 ? 'waits' : 'wait'}.`;
}

const sumsOf = ({ waiting }: Pick<Money, 'waiting'>): string[] =>
  waiting.map(({ amount, currency }) => tied(`${apart(amount)} ${currency}`));
