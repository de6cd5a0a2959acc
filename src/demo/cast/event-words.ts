/** An event in a line, for the terminal and for the page. */
import { checkoutEnd, statePlace, stateWords } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { isDecimal } from '../../domain/values/exact-json.ts';
import type { ShopEvent } from './shop.ts';

export interface EventWords {
  readonly text: string;
  /** A shorter text for a narrow line. */
  readonly brief: string;
  /** Green is paid, red is stuck, yellow another end. */
  readonly style: 'green' | 'yellow' | 'red' | null;
}

/** An event in words. */
export function wordsFor(event: ShopEvent): EventWords {
  const stay = (since: string | null): string =>
    since === null ? '' : ` after ${humanDuration(Date.parse(event.timestamp) - Date.parse(since))}`;
  switch (event.type) {
    case 'purchase.state_changed': {
      const { from, to } = event.data;
      const words = stateWords(to.value);
      const end = checkoutEnd(to.name);
      const style = end === 'paid' ? 'green' : end === null ? null : 'yellow';
      return { text: from === null ? `first seen: ${words}` : `${stateWords(from.value)} → ${words}`, brief: words, style };
    }
    case 'purchase.stuck': {
      const { state, stateSince } = event.data;
      return { text: `STUCK ${statePlace(state.value)}${stay(stateSince)}`, brief: `STUCK${stay(stateSince)}`, style: 'red' };
    }
    case 'purchase.recovered': {
      const text = `moved on${stay(event.data.stateSince)}`;
      return { text, brief: text, style: 'green' };
    }
    case 'purchase.invoice_ready': {
      const { totalAmount, dueDate } = event.data.invoice;
      const amount = isDecimal(totalAmount) ? totalAmount.rawJSON : (totalAmount ?? '?');
      const price = `${amount} ${event.data.currency ?? ''}`.trimEnd();
      return { text: `invoice of ${price}, due ${dueDate?.slice(0, 10) ?? '?'}`, brief: `invoice of ${price}`, style: null };
    }
    case 'subscriber.test':
      return { text: 'a test: it arrives, and is well signed', brief: 'a test', style: null };
    default:
      return { text: event.type, brief: event.type, style: 'yellow' };
  }
}
