/** An event in a line, for the terminal and for the page. */
import { checkoutEnd } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { isDecimal } from '../../domain/values/exact-json.ts';
import type { ShopEvent } from './shop.ts';

/** What an event says, with the colour that stands for it: green is paid, red is stuck, yellow another end. */
export function wordsFor(event: ShopEvent): { text: string; style: 'green' | 'yellow' | 'red' | null } {
  const stay = (since: string | null): string =>
    since === null ? '' : ` after ${humanDuration(Date.parse(event.timestamp) - Date.parse(since))}`;
  switch (event.type) {
    case 'purchase.state_changed': {
      const { from, to } = event.data;
      const end = checkoutEnd(to.name);
      const style = end === 'paid' ? 'green' : end === null ? null : 'yellow';
      return { text: from === null ? `first seen: ${to.name}` : `${from.name} → ${to.name}`, style };
    }
    case 'purchase.stuck':
      return { text: `STUCK in ${event.data.state.name}${stay(event.data.stateSince)}`, style: 'red' };
    case 'purchase.recovered':
      return { text: `moved on${stay(event.data.stateSince)}`, style: 'green' };
    case 'purchase.invoice_ready': {
      const { totalAmount, dueDate } = event.data.invoice;
      const amount = isDecimal(totalAmount) ? totalAmount.rawJSON : (totalAmount ?? '?');
      const price = `${amount} ${event.data.currency ?? ''}`.trimEnd();
      return { text: `invoice of ${price}, due ${dueDate?.slice(0, 10) ?? '?'}`, style: null };
    }
    case 'subscriber.test':
      return { text: 'a test: it arrives, and is well signed', style: null };
    default:
      return { text: event.type, style: 'yellow' };
  }
}
