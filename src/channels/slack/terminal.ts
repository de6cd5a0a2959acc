/** A Slack message as a terminal can show it, for the demo. */

import { counted } from '../../domain/values/counts.ts';
import { cutToWidth, padToWidth, textWidth, wrapToWidth } from '../../domain/values/text-width.ts';
import { unmarked } from '../people/messages/mrkdwn.ts';
import type { SlackBlock } from './layout.ts';

const WIDTH = 88;
const LABEL_WIDTH = 24;
const FACT_GAP = 2;

/** A message as an incoming webhook gets it. */
export interface ShownMessage {
  readonly text: string;
  readonly blocks?: readonly SlackBlock[] | null | undefined;
}

/** Draws the whole message in a box that is open to the right, so that wide characters cannot bend it. */
export function renderForTerminal({ text, blocks }: ShownMessage): string {
  const [first = '', ...rest] = blocks ? blocks.map(blockText) : unmarked(text).split('\n');
  const body = rest.join(blocks ? '\n\n' : '\n');
  const lines = [withoutLink(first), ...(body === '' ? [] : ['', ...body.split('\n')])];
  const inside = lines.flatMap((line) => wrapToWidth(line, WIDTH - 2)).map((line) => `│ ${line}`.trimEnd());
  return [frameLine('┌─ Slack ', WIDTH), ...inside, frameLine('└', WIDTH)].join('\n');
}

/**
 * Draws the message in at most `rows` lines of at most `columns`: the headline, facts two in a line as Slack sets them, and of
 * each paragraph the beginning where the whole message needs more lines. The last line says how many are left out.
 */
export function terminalCard({ text, blocks }: ShownMessage, { columns, rows }: { columns: number; rows: number }): string[] {
  const inner = columns - 2;
  const [first = '', ...rest] = blocks ?? unmarked(text).split('\n');
  const headline = wrapToWidth(withoutLink(typeof first === 'string' ? first : blockText(first)), inner);
  const facts = rest.flatMap((part) => (isFacts(part) ? factLines(part.fields, inner) : []));
  const paragraphs = rest
    .filter((part) => !isFacts(part))
    .map((part) => wrapToWidth((typeof part === 'string' ? part : blockText(part)).replaceAll('\n', ' · '), inner))
    .filter(([line]) => line !== '');
  const whole = [...headline, ...facts, ...paragraphs.flat()];
  const room = Math.max(0, rows - 2);
  const shown = whole.length <= room ? whole : [...headline, ...facts];
  // The first paragraphs are the likely cause and what to do.
  const each = room - shown.length >= 4 ? 2 : 1;
  if (shown !== whole) shown.push(...paragraphs.flatMap((lines) => beginning(lines, each)));
  shown.splice(room);
  const left = whole.length - shown.length;
  const inside = shown.map((line) => `│ ${cutToWidth(line, inner)}`.trimEnd());
  return [
    frameLine('┌─ Slack ', columns),
    ...inside,
    frameLine(left === 0 ? '└' : `└─ ${counted(left, 'more line')} in Slack `, columns),
  ];
}

function beginning(lines: readonly string[], most: number): readonly string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), `${lines[most - 1]} …`];
}

function frameLine(start: string, width: number): string {
  return cutToWidth(start + '─'.repeat(Math.max(0, width - textWidth(start))), width);
}

/** A headline is as long as a line, without its link: the notes of the message have the same. */
function withoutLink(text: string): string {
  return text.replace(/: https?:\S+$/, '');
}

function isFacts(part: SlackBlock | string): part is Extract<SlackBlock, { fields: unknown }> {
  return typeof part !== 'string' && 'fields' in part;
}

function blockText(block: SlackBlock): string {
  if (block.type === 'context') return block.elements.map(({ text }) => unmarked(text)).join(' · ');
  if (isFacts(block)) return block.fields.map(({ text }) => fieldText(unmarked(text))).join('\n');
  return unmarked(block.text.text);
}

/** A label and its value on one line; further lines of the value stand below it. */
function fieldText(text: string): string {
  const [label = '', ...values] = text.split('\n');
  return `${label.padEnd(LABEL_WIDTH)}${values.join(`\n${' '.repeat(LABEL_WIDTH)}`)}`;
}

/** Labels and first lines of values: two in a line, and then those that need a line of their own. */
function factLines(fields: readonly { readonly text: string }[], inner: number): string[] {
  const pairs = fields.map(({ text }) => unmarked(text).split('\n'));
  const width = Math.max(...pairs.map(([label = '']) => textWidth(label))) + FACT_GAP;
  const half = Math.floor((inner - FACT_GAP) / 2);
  const facts = pairs.map(([label = '', value = '']) => padToWidth(label, width) + withoutLink(value));
  const short = facts.filter((fact) => textWidth(fact) <= half);
  const lines: string[] = [];
  for (let at = 0; at < short.length; at += 2)
    lines.push((padToWidth(short[at]!, half + FACT_GAP) + (short[at + 1] ?? '')).trimEnd());
  return [...lines, ...facts.filter((fact) => textWidth(fact) > half)];
}
