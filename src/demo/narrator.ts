/** Puts into words what happens: headlines for the story, one line for each webhook, the box that Slack would show. */
import { checkoutEnd } from '../domain/purchases/states.ts';
import { humanDuration } from '../domain/values/duration.ts';
import { isDecimal } from '../domain/values/exact-json.ts';
import { createPace } from './pace.ts';
import type { Arrival } from './shop.ts';
import type { Stage, Style } from './stage.ts';

export interface Narrator {
  /** Begins a part of the story. */
  headline(title: string, text: readonly string[]): void;
  /** A sentence in the course of it, with the time. */
  say(text: string): void;
  arrival(arrival: Arrival): void;
  /** Text of several lines as it is. */
  show(text: string): void;
  stop(): void;
}

const LINES_A_SECOND = 4;
/** Ids are long; so much distinguishes them here. */
const ID_LENGTH = 8;
const SITE_WIDTH = 7;
/** The longest change: BeingProcessed → WaitingForFinnishDirectPayment. */
const CHANGE_WIDTH = 47;

/** Narrates on a stage. */
export function createNarrator(stage: Stage): Narrator {
  const clock = (): string => stage.paint('gray', new Date().toTimeString().slice(0, 8));
  const pace = createPace({
    most: LINES_A_SECOND,
    show: (text) => stage.write(text),
    more: (count) => stage.paint('gray', `${' '.repeat(10)}+ ${count} more webhooks`),
  });
  const show = (text: string): void => {
    pace.flush();
    for (const line of text.split('\n')) stage.write(line);
  };
  return {
    headline: (title, text) => {
      show(`\n${stage.paint('bold', title)}`);
      for (const line of text) stage.write(`  ${line}`);
      stage.write('');
    },
    say: (text) => show(`${clock()}  ${stage.paint('cyan', text)}`),
    arrival: ({ event, took }) => {
      const { site = '', purchaseId = '' } = event.data as { site?: string; purchaseId?: string };
      const { text, style } = wordsFor(event);
      const id = purchaseId.slice(0, ID_LENGTH).padEnd(ID_LENGTH);
      const change = text.padEnd(CHANGE_WIDTH);
      const webhook = stage.paint('gray', `webhook ✓ ${String(took).padStart(4)} ms`);
      pace.line(
        `${clock()}  ${site.padEnd(SITE_WIDTH)}  ${id}  ${style === null ? change : stage.paint(style, change)}  ${webhook}`,
      );
    },
    show,
    stop: pace.stop,
  };
}

function wordsFor(event: Arrival['event']): { text: string; style: Style | null } {
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
