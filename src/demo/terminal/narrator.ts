/** Puts into words what happens: headlines for the story, one line for each webhook, the box that Slack would show. */

import { wordsFor } from '../cast/event-words.ts';
import type { Arrival } from '../cast/shop.ts';
import { createPace } from './pace.ts';
import type { Stage } from './stage.ts';

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
