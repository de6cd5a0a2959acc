/** A Slack message as a terminal can show it, for the demo. */

import { unmarked } from '../people/messages/mrkdwn.ts';
import type { SlackBlock } from './layout.ts';

const WIDTH = 88;

/** Draws the message in a box that is open to the right, so that wide characters cannot bend it. */
export function renderForTerminal(message: {
  readonly text: string;
  readonly blocks?: readonly SlackBlock[] | undefined;
}): string {
  const [first = '', ...rest] = message.blocks === undefined ? unmarked(message.text).split('\n') : message.blocks.map(blockText);
  const body = message.blocks === undefined ? rest.join('\n') : rest.join('\n\n');
  // A headline is as long as a line, without its link: the notes of the message have the same.
  const headline = first.replace(/: https?:\S+$/, '');
  const lines = [headline, ...(body === '' ? [] : ['', ...body.split('\n')])].flatMap(wrapped);
  return [`┌─ Slack ${'─'.repeat(WIDTH - 9)}`, ...lines.map((line) => `│ ${line}`.trimEnd()), `└${'─'.repeat(WIDTH - 1)}`].join(
    '\n',
  );
}

function blockText(block: SlackBlock): string {
  if (block.type === 'context') return block.elements.map(({ text }) => unmarked(text)).join(' · ');
  if (block.type === 'section' && 'fields' in block) return block.fields.map(({ text }) => fieldText(unmarked(text))).join('\n');
  return unmarked(block.text.text);
}

/** A label and its value on one line; further lines of the value stand below it. */
function fieldText(text: string): string {
  const [label = '', ...values] = text.split('\n');
  return `${label.padEnd(24)}${values.join(`\n${' '.repeat(24)}`)}`;
}

/** Breaks a line at spaces, but not between a number and its unit. */
function wrapped(line: string): string[] {
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(/(?<=\S) (?!(?<=\d )(?:ms|s|min|h|d)\b)/)) {
    if (current !== '' && current.length + 1 + word.length > WIDTH - 2) {
      lines.push(current);
      current = word;
    } else current = current === '' ? word : `${current} ${word}`;
  }
  return [...lines, current];
}
