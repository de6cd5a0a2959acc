/** Narrates in lines one below the other: headlines for the story, a line for each webhook, Slack's messages. */

import { printable } from '../../channels/http/excerpt.ts';
import { renderForTerminal, type ShownMessage } from '../../channels/slack/terminal.ts';
import { wall } from '../../runtime/time.ts';
import { wordsFor } from '../cast/event-words.ts';
import type { Arrival } from '../cast/shop.ts';
import { createPace } from './pace.ts';
import type { Stage } from './stage.ts';

export interface Narrator {
  /** Begins a part of the story. */
  headline(title: string, text: readonly string[]): void;
  /** A sentence within a part of the story. */
  say(text: string): void;
  arrival(arrival: Arrival): void;
  /** A message that Slack got. */
  slack(message: ShownMessage): void;
  /** Commands to try after the story: titles, and commands below them that begin with blanks. `isShown`: without a key. */
  commands(lines: readonly string[], isShown: boolean): void;
  stop(): void;
}

/** How many webhooks a second a person can read; the demo only counts the others. */
export const LINES_A_SECOND = 4;
const SITE_WIDTH = 7;
/** The longest change: in the check-out form → waiting for the mobile payment app. */
const CHANGE_WIDTH = 58;

/** Narrates in lines on a stage. */
export function createNarrator(stage: Stage): Narrator {
  const clock = (): string => stage.paint('gray', new Date(wall()).toTimeString().slice(0, 8));
  const pace = createPace<string>({
    most: LINES_A_SECOND,
    show: (line) => stage.write(line),
    more: (count) => stage.paint('gray', `${' '.repeat(10)}+ ${count} more webhooks`),
  });
  const show = (text: string): void => {
    pace.flush();
    for (const line of text.split('\n')) stage.write(line);
  };
  const say = (text: string): void => show(`${clock()}  ${stage.paint('cyan', text)}`);
  return {
    headline: (title, text) => show([`\n${stage.paint('bold', title)}`, ...text.map((line) => `  ${line}`), ''].join('\n')),
    say,
    arrival: ({ event, took }) => {
      const { site = '', purchaseId = '' } = event.data as { site?: string; purchaseId?: string };
      const { text, style } = wordsFor(event);
      const change = text.padEnd(CHANGE_WIDTH);
      const webhook = stage.paint('gray', `webhook ✓ ${String(took).padStart(4)} ms`);
      const words = style === null ? change : stage.paint(style, change);
      pace.line(`${clock()}  ${site.padEnd(SITE_WIDTH)}  ${printable(purchaseId)}  ${words}  ${webhook}`);
    },
    slack: (message) => {
      say('Slack gets a message:');
      show(renderForTerminal(message));
    },
    commands: (lines) => show(lines.map((line) => (line.startsWith(' ') ? `  ${line}` : `\n  ${line}`)).join('\n')),
    stop: pace.stop,
  };
}
