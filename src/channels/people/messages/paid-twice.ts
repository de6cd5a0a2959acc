/** Orders that were paid twice, and what to do about them. */
import { commandLine } from '../../../domain/values/command-line.ts';
import { counted } from '../../../domain/values/counts.ts';
import type { PaidTwice } from '../events/incident-event.ts';
import { amountText, LONGEST_LINKS, orderName } from './checkout-names.ts';
import { andMore, type Draft, type Labelled, LONGEST_NAME, signOf } from './draft.ts';
import { command, moment, plain, purchaseId } from './mrkdwn.ts';

/** Orders named in one message. */
const NAMED = 12;
const LONGEST_COMMAND = 900;

type Order = PaidTwice['orders'][number];

const WHAT_TO_DO =
  'Look at the order in your shop and at both purchases. If the customer meant to pay once, refund one of them. Most often the page that a customer returns to starts a new checkout for an order that is paid: check that first.';

/** Orders paid twice as paragraphs of a message that is about something else, too. */
export function paidTwiceBeside(event: PaidTwice, consoleUrl: string | null): Labelled[] {
  const { headline } = paidTwiceDraft(event, consoleUrl);
  return paidTwiceLines(event, 25, consoleUrl).map(([, lines, ...rest]) => [headline, lines, ...rest]);
}

/** A message about orders of a site that were paid twice. */
export function paidTwiceDraft(event: PaidTwice, consoleUrl: string | null): Draft {
  const { site, orders } = event;
  const count = countOf(event);
  const where = plain(site, LONGEST_NAME);
  const [first] = orders;
  const alone = count === 1 ? first : undefined;
  const times = alone === undefined || alone.payments.length === 2 ? 'twice' : `${alone.payments.length} times`;
  const orderText = alone === undefined ? `${counted(count, 'order was', 'orders were')} paid` : 'an order was paid';
  const known = (alone?.payments ?? []).map(amountText).filter((amount) => amount !== null);
  const money = known.length === 0 ? '' : `: ${[...new Set(known)].join(' and ')}`;
  const last = first?.payments.at(-1);
  return {
    headline: `${signOf({ severity: 'warning' })} ${where}: ${orderText} ${times}${money.length > 70 ? '' : money}`,
    facts: [
      ['Site', where],
      ['Order', alone === undefined ? null : (orderOf(alone) ?? 'not known')],
      ['Severity', 'warning'],
    ],
    paragraphs: [...paidTwiceLines(event, 30, consoleUrl), ['What to do', WHAT_TO_DO]],
    notes: last === undefined ? [] : [[`More: ${command(commandLine`why ${last.purchaseId}`, LONGEST_COMMAND)}`, { order: 65 }]],
  };
}

/** A paragraph of the payments of each order. */
function paidTwiceLines(event: PaidTwice, order: number, consoleUrl: string | null): Labelled[] {
  const { site, orders } = event;
  const count = countOf(event);
  const lines = (most: number, links: string | null): string => {
    const shown = orders.slice(0, most).flatMap((each) => [
      ...(count === 1 ? [] : [`Order ${orderOf(each) ?? 'not known'}:`]),
      ...each.payments.map((payment) => {
        const at = payment.completedAt === null ? '' : `, completed ${moment(payment.completedAt)}`;
        return `• ${purchaseId(payment.purchaseId, { consoleUrl: links, site })}, ${amountText(payment) ?? 'amount not known'}${at}`;
      }),
    ]);
    return andMore(shown, count - Math.min(orders.length, most), 'more orders');
  };
  const linked = lines(NAMED, consoleUrl);
  // Links go before names do.
  const whole = linked.length <= LONGEST_LINKS ? linked : lines(NAMED, null);
  const shorter = [NAMED, 8, 5, 3, 1].filter((most) => most <= Math.max(orders.length, 1)).map((most) => lines(most, null));
  return [[count === 1 ? 'Paid by' : 'Paid twice', whole, { order, shorter }]];
}

/** The page of the console: that of the latest payment, where it is about one order. */
export function paidTwicePage(event: PaidTwice): string {
  const last = event.orders[0]?.payments.at(-1);
  if (last === undefined || countOf(event) > 1) return '/purchases';
  return `/purchases/${encodeURIComponent(event.site.toWellFormed())}/${encodeURIComponent(last.purchaseId.toWellFormed())}`;
}

function countOf({ orderCount, orders }: PaidTwice): number {
  return Math.max(orderCount, orders.length);
}

/** By the payment that names it; a payment whose purchase was erased names nothing. */
function orderOf({ payments }: Order): string | null {
  return payments.map(orderName).find((name) => name !== null) ?? null;
}
