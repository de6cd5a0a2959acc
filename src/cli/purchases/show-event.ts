/** One line per event, for a person who watches them come. */

import { readSystemEvent } from '../../domain/events/system-event-types.ts';
import { checkoutEnd, stateBoth, statePlace, stateWords } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { isDecimal } from '../../domain/values/exact-json.ts';
import { type Instant, isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Taken } from '../../receiver/receiver.ts';
import type { CliContext } from '../terminal/context.ts';
import { printable, styled } from '../terminal/output.ts';

interface Words {
  readonly text: string;
  readonly style: Parameters<typeof styled>[1] | null;
}

/** `purchase.state_changed` and `purchase.invoice_ready`, the longest that come often. */
const TYPE_WIDTH = 22;
/** An event that took longer than this on its way waited somewhere. */
const OLD: Milliseconds = 10_000;

/** Writes lines whose columns are as wide as what came so far needs. `timeOf` writes when an event came: the time of day unless given. */
export function eventLines(
  context: CliContext,
  timeOf = (at: Instant): string => isoTime(at).slice(11),
): (taken: Taken) => string {
  const widths = { site: 0, purchase: 0 };
  return (taken) => {
    const { event, at } = taken;
    const { site, purchaseId, sequence } = event.data;
    widths.site = Math.max(widths.site, word(site).length);
    widths.purchase = Math.max(widths.purchase, word(purchaseId).length);
    const { text, style } = wordsFor(event);
    const columns = [
      styled(context, 'gray', timeOf(at)),
      printable(event.type).padEnd(TYPE_WIDTH),
      word(site).padEnd(widths.site),
      word(purchaseId).padEnd(widths.purchase),
      (typeof sequence === 'number' ? `#${sequence}` : '-').padEnd(3),
      style === null ? printable(text) : styled(context, style, printable(text)),
      ...notesOn(taken).map((note) => styled(context, 'yellow', `[${note}]`)),
    ];
    return columns.join('  ').trimEnd();
  };
}

/** Notes on a delivery: repeats, tries, gaps in the numbers, a long way, an answer other than 200. */
function notesOn({ event, place, at, status, why }: Taken): string[] {
  const { time, wasTaken, order, before } = place;
  const age = event.timestamp === null ? 0 : at - Date.parse(event.timestamp);
  return [
    wasTaken ? `repeat: this id came ${time - 1 === 1 ? 'once' : `${time - 1} times`} before, and was taken` : null,
    time > 1 && !wasTaken ? `try ${time}` : null,
    order === 'jumped' ? `sequence jumped: the last was ${before}` : null,
    order === 'back' ? `sequence went back: the last was ${before}` : null,
    age > OLD ? `came ${humanDuration(age)} after it happened` : null,
    why !== null ? `answered ${status}: ${printable(why)}` : status === 200 ? null : `answered ${status}`,
  ].filter((note) => note !== null);
}

function wordsFor({ type, data, timestamp }: Taken['event']): Words {
  const event = readSystemEvent(type, data);
  const stay = (start: string | null): string => {
    const length = Date.parse(timestamp ?? '') - Date.parse(start ?? '');
    return Number.isFinite(length) ? ` for ${humanDuration(length)}` : '';
  };
  switch (event?.type) {
    case 'purchase.state_changed': {
      const { from, to, price, currency } = event.data;
      const amount = price === null || currency === null ? '' : `  ${word(price)} ${currency}`;
      const end = checkoutEnd(to.name);
      const style = end === 'paid' ? 'green' : end === null ? null : 'yellow';
      return { text: `${from === null ? 'first seen: ' : `${stateWords(from.value)} → `}${stateBoth(to.value)}${amount}`, style };
    }
    case 'purchase.stuck':
      return { text: `stuck ${statePlace(event.data.state.value)}${stay(event.data.stateSince)}`, style: 'red' };
    case 'purchase.at_risk':
      return { text: `at risk ${statePlace(event.data.state.value)}${stay(event.data.stateSince)}`, style: 'red' };
    case 'purchase.recovered':
      return {
        text: `${stateWords(event.data.from.value)} → ${stateBoth(event.data.to.value)}, no longer stuck`,
        style: 'green',
      };
    case 'purchase.unreadable':
      return { text: event.data.reason, style: 'yellow' };
    case 'purchase.readable':
    case 'purchase.expired':
    case 'site.unknown_state': {
      const { state } = event.data;
      return { text: state === null ? '' : statePlace(state.value), style: type === 'purchase.readable' ? null : 'yellow' };
    }
    case 'purchase.invoice_ready':
      return { text: `invoice of ${word(event.data.invoice.totalAmount)} ${event.data.currency ?? '-'}`, style: null };
    case 'order.paid_twice':
      return {
        text: event.data.payments.map(({ price, currency }) => `${word(price)} ${currency ?? '-'}`).join(' and '),
        style: 'red',
      };
    case 'site.unreachable':
      return { text: event.data.lastError ?? '-', style: 'red' };
    case 'site.reachable':
      return { text: `answers again${stay(event.data.since).replace(' for ', ' after ')}`, style: 'green' };
    case 'subscriber.test':
      return { text: event.data.note, style: null };
    default:
      return { text: '', style: null };
  }
}

/** A value on one line; amounts with the digits they came with. */
function word(value: unknown): string {
  if (value == null) return '-';
  return printable(typeof value === 'string' ? value : isDecimal(value) ? value.rawJSON : JSON.stringify(value));
}
