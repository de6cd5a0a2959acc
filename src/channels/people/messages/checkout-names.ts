/** How messages name single checkouts: the purchase, its order and its money. */

import { apart } from '../../../domain/values/counts.ts';
import type { AlertedCheckout, OverCheckout } from '../events/checkouts-event.ts';
import { andMore, type Labelled, LONGEST_NAME } from './draft.ts';
import { code, plain, purchaseId } from './mrkdwn.ts';

/** Checkouts named in one message. */
const NAMED = 20;
/** Lines with links may be so long together; longer ones are shown without, since Slack takes 3 000. */
export const LONGEST_LINKS = 2_800;
const LONGEST_ORDER = 80;
const LONGEST_AMOUNT = 40;

export type Named = AlertedCheckout | OverCheckout;

export function whereOf(all: readonly Named[]): string {
  const sites = [...new Set(all.map(({ site }) => site))];
  return sites.length === 1 ? plain(sites[0]!, LONGEST_NAME) : `${sites.length} sites`;
}

/** An amount with its currency; null when it is not known. */
export function amountText({ price, currency }: Pick<Named, 'price' | 'currency'>): string | null {
  if (price === null || currency === null || price.length > LONGEST_AMOUNT) return null;
  return `${plain(apart(price), LONGEST_AMOUNT * 2)} ${plain(currency, 10)}`;
}

/** The merchant's own name of the order first, because people look for it in their own shop; both names where they differ. */
export function orderName({ reference, orderReference }: Pick<Named, 'reference' | 'orderReference'>): string | null {
  const names = [reference, orderReference].filter((name) => name !== null);
  const [first, second] = [...new Set(names)].map((name) => code(name, LONGEST_ORDER));
  if (first === undefined) return null;
  return second === undefined ? first : `${first} (at the service ${second})`;
}

export function nameOf(each: Named, consoleUrl: string | null): string {
  const order = orderName(each);
  const name = [purchaseId(each.purchaseId, { consoleUrl, site: each.site }), ...(order === null ? [] : [`order ${order}`])];
  return [...name, amountText(each) ?? 'amount not known'].join(', ');
}

/** Lines that name checkouts. Of `line`, `links` is the console that ids link to, `isAlone`: all of them are of one place, which needs no name. */
export function namedParagraph<Each extends Named>(
  label: string,
  all: readonly Each[],
  total: number,
  order: number,
  consoleUrl: string | null,
  line: (each: Each, isAlone: boolean, links: string | null) => string,
): Labelled[] {
  if (all.length === 0) return [];
  const isAlone = new Set(all.map(({ site, state }) => `${site} ${state.value}`)).size === 1;
  const lines = (most: number, links: string | null): string => {
    const shown = all.slice(0, most).map((each) => line(each, isAlone, links));
    return andMore(shown, total - shown.length, `more: ${code('purchase-watch status', 40)}`);
  };
  const linked = lines(NAMED, consoleUrl);
  const whole = linked.length <= LONGEST_LINKS ? linked : lines(NAMED, null);
  const fewer = [12, 8, 5, 3, 1].filter((most) => most < Math.min(all.length, NAMED));
  // Links go before names do.
  const shorter = [NAMED, ...fewer].map((most) => lines(most, null));
  return [[label, whole, { order, shorter: consoleUrl === null ? shorter.slice(1) : shorter }]];
}
