/** One line per event, for a person who watches them come. */

import { checkoutEnd } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { isDecimal, type JsonValue } from '../../domain/values/exact-json.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Taken } from '../../receiver/receiver.ts';
import type { CliContext } from '../terminal/context.ts';
import { printable, styled } from '../terminal/output.ts';

type Style = Parameters<typeof styled>[1];
type Data = Taken['event']['data'];

/** `purchase.state_changed` and `purchase.invoice_ready`, the longest that come often. */
const TYPE_WIDTH = 22;
/** What took longer than this on its way was waiting somewhere. */
const OLD: Milliseconds = 10_000;

/** Writes lines whose columns are as wide as what came so far needs. */
export function eventLines(context: CliContext): (taken: Taken) => string {
  const widths = { site: 0, purchase: 0 };
  return (taken) => {
    const { event, at } = taken;
    const { site, purchaseId, sequence } = event.data;
    widths.site = Math.max(widths.site, word(site).length);
    widths.purchase = Math.max(widths.purchase, word(purchaseId).length);
    const { text, style } = wordsFor(event.type, event.data, event.timestamp);
    const columns = [
      styled(context, 'gray', isoTime(at).slice(11)),
      printable(event.type).padEnd(TYPE_WIDTH),
      word(site).padEnd(widths.site),
      word(purchaseId).padEnd(widths.purchase),
      (typeof sequence === 'number' ? `#${sequence}` : '-').padEnd(3),
      style === null ? text : styled(context, style, text),
      ...notesOn(taken).map((note) => styled(context, 'yellow', `[${note}]`)),
    ];
    return columns.join('  ').trimEnd();
  };
}

/** What is remarkable about how it came, and about what it was answered. */
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

function wordsFor(type: string, data: Data, timestamp: string | null): { text: string; style: Style | null } {
  const { from, to, state, stateSince, since, lastError, reason, note, price, currency } = data;
  const time = (moment: JsonValue | undefined): Milliseconds => Date.parse(String(moment));
  const stay = (start: JsonValue | undefined): string => {
    const length = time(timestamp ?? undefined) - time(start);
    return Number.isFinite(length) ? ` for ${humanDuration(length)}` : '';
  };
  switch (type) {
    case 'purchase.state_changed': {
      const name = stateWord(to);
      const amount = price == null || currency == null ? '' : `  ${word(price)} ${word(currency)}`;
      const end = checkoutEnd(name);
      const style = end === 'paid' ? 'green' : end === null ? null : 'yellow';
      return { text: `${from == null ? 'first seen: ' : `${stateWord(from)} → `}${name}${amount}`, style };
    }
    case 'purchase.stuck':
      return { text: `stuck in ${stateWord(state)}${stay(stateSince)}`, style: 'red' };
    case 'purchase.recovered':
      return { text: `${stateWord(from)} → ${stateWord(to)}, no longer stuck`, style: 'green' };
    case 'purchase.unreadable':
      return { text: word(reason), style: 'yellow' };
    case 'purchase.readable':
    case 'purchase.expired':
    case 'site.unknown_state':
      return { text: state == null ? '' : `in ${stateWord(state)}`, style: type === 'purchase.readable' ? null : 'yellow' };
    case 'purchase.invoice_ready':
      return { text: `invoice of ${word(field(data.invoice, 'totalAmount'))} ${word(currency)}`, style: null };
    case 'site.unreachable':
      return { text: word(lastError), style: 'red' };
    case 'site.reachable':
      return { text: `answers again${stay(since).replace(' for ', ' after ')}`, style: 'green' };
    case 'subscriber.test':
      return { text: word(note), style: null };
    default:
      return { text: '', style: null };
  }
}

function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !isDecimal(value);
  return isObject ? (value as Readonly<Record<string, JsonValue>>)[name] : undefined;
}

function stateWord(value: JsonValue | undefined): string {
  return word(field(value, 'name') ?? field(value, 'value'));
}

/** A value on one line; amounts with the digits they came with. */
function word(value: JsonValue | undefined): string {
  if (value == null) return '-';
  return printable(typeof value === 'string' ? value : isDecimal(value) ? value.rawJSON : JSON.stringify(value));
}
