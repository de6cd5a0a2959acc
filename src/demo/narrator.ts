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
/** Ids are long; so much tells them apart here. */
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
      const { site, purchaseId } = event.data;
      const { text, style } = wordsFor(event);
      const id = (purchaseId ?? '').slice(0, ID_LENGTH).padEnd(ID_LENGTH);
      const change = text.padEnd(CHANGE_WIDTH);
      const webhook = stage.paint('gray', `webhook ✓ ${String(took).padStart(4)} ms`);
      pace.line(
        `${clock()}  ${(site ?? '').padEnd(SITE_WIDTH)}  ${id}  ${style === null ? change : stage.paint(style, change)}  ${webhook}`,
      );
    },
    show,
    stop: pace.stop,
  };
}

/** With the digits it came with. */
function amountOf({ invoice, currency }: Arrival['event']['data']): string {
  const amount = invoice?.totalAmount ?? '?';
  return `${isDecimal(amount) ? amount.rawJSON : amount} ${currency ?? ''}`.trimEnd();
}

function wordsFor({ type, timestamp, data }: Arrival['event']): { text: string; style: Style | null } {
  const stay = data.stateSince == null ? '' : ` after ${humanDuration(Date.parse(timestamp) - Date.parse(data.stateSince))}`;
  switch (type) {
    case 'purchase.state_changed': {
      const to = data.to?.name ?? '?';
      const end = checkoutEnd(to);
      const style = end === 'paid' ? 'green' : end === null ? null : 'yellow';
      return { text: data.from == null ? `first seen: ${to}` : `${data.from.name} → ${to}`, style };
    }
    case 'purchase.stuck':
      return { text: `STUCK in ${data.state?.name ?? '?'}${stay}`, style: 'red' };
    case 'purchase.recovered':
      return { text: `moved on${stay}`, style: 'green' };
    case 'purchase.invoice_ready':
      return { text: `invoice of ${amountOf(data)}, due ${data.invoice?.dueDate?.slice(0, 10) ?? '?'}`, style: null };
    case 'subscriber.test':
      return { text: 'a test: it arrives, and is well signed', style: null };
    default:
      return { text: type, style: 'yellow' };
  }
}
