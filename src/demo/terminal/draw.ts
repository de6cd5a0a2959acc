/** The screen as lines: a pure function of the scene and of the terminal's size. */
import { printable } from '../../channels/http/excerpt.ts';
import { type ShownMessage, terminalCard } from '../../channels/slack/terminal.ts';
import { counted } from '../../domain/values/counts.ts';
import { cutToWidth, padToWidth, textWidth, wrapToWidth } from '../../domain/values/text-width.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { wordsFor } from '../cast/event-words.ts';
import type { Arrival } from '../cast/shop.ts';
import type { Stage, Style } from './stage.ts';

/** A webhook, or a sentence in its place. */
export type Traffic = Arrival | { readonly text: string; readonly style: Style };

export interface Chapter {
  readonly title: string;
  readonly text: string;
  readonly steps?: readonly { readonly words: string; readonly isDone: boolean }[];
}

/** A message of Slack, or the commands to try, above the traffic for a while. */
export type TerminalPanel =
  | { readonly kind: 'slack'; readonly message: ShownMessage }
  | { readonly kind: 'commands'; readonly lines: readonly string[] };

export interface Scene {
  readonly address: string;
  readonly elapsed: Milliseconds;
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<'purchases' | 'stuck' | 'webhooks' | 'messages', number>> & { readonly median: Milliseconds };
  /** Parts that do not work now, such as `daemon`. */
  readonly broken: readonly string[];
  readonly chapter: Chapter;
  readonly panel: TerminalPanel | null;
  /** The newest last. */
  readonly traffic: readonly Traffic[];
  readonly keys: readonly (readonly [key: string, action: string])[];
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

type Span = readonly [text: string, style?: Style];

/** Longer lines of prose are hard to read. */
const WIDEST_TEXT = 100;
/** The head's two lines and both rules. */
const FRAME = 4;
/** A shorter text leaves lines free, so that the lines below do not move with each chapter. */
const CHAPTER = 4;
const CARD = 12;
/** Lines of traffic that stay below a longer card. */
const BELOW_CARD = 4;
const TOOK = 6;
const SITE = 7;
const ID = 36;
/** From here on a line has room for the time and for the state before. */
const WIDE = 114;

/** The screen: at most `rows` lines of at most `columns`, as `paint` colours them. */
export function draw(scene: Scene, { columns, rows }: Size, paint: Stage['paint']): string[] {
  const rule: Span[] = [['─'.repeat(columns), 'gray']];
  const chapter = chapterLines(scene.chapter, columns).slice(0, Math.max(CHAPTER, Math.floor(rows / 4)));
  while (chapter.length < CHAPTER) chapter.push([]);
  const room = Math.max(0, rows - FRAME - chapter.length - 1);
  const panel = panelLines(scene.panel, { columns, rows: room });
  const traffic = trafficLines(scene.traffic, { columns, rows: room - panel.length });
  const above = [headLine(scene, columns), countsLine(scene), rule, ...chapter, rule, ...panel, ...traffic];
  while (above.length < rows - 1) above.push([]);
  return [...above.slice(0, Math.max(0, rows - 1)), keysLine(scene.keys)].map((spans) => painted(spans, columns, paint));
}

function painted(spans: readonly Span[], columns: number, paint: Stage['paint']): string {
  let left = columns;
  return spans
    .map(([text, style]) => {
      const kept = cutToWidth(text, left);
      left -= textWidth(kept);
      return style === undefined || kept === '' ? kept : paint(style, kept);
    })
    .join('');
}

function headLine({ address, broken, elapsed, isPaused }: Scene, columns: number): Span[] {
  const seconds = Math.floor(elapsed / 1_000);
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  const left: Span[] = [['purchase-watch', 'bold'], [`  ${address}`]];
  if (broken.length > 0) left.push([`  broken: ${broken.join(', ')}`, 'red']);
  const right: Span = isPaused ? [`paused  ${clock}`, 'yellow'] : [clock];
  const taken = [...left, right].reduce((sum, [text]) => sum + textWidth(text), 0);
  return [...left, [' '.repeat(Math.max(1, columns - taken))], right];
}

function countsLine({ counts: { purchases, stuck, webhooks, median, messages } }: Scene): Span[] {
  return [
    [`${counted(purchases, 'purchase')} · `],
    [`${stuck} stuck`, stuck > 0 ? 'red' : 'green'],
    [` · ${counted(webhooks, 'webhook')}, half within ${median} ms · ${messages} to Slack`],
  ];
}

function chapterLines({ title, text, steps = [] }: Chapter, columns: number): Span[][] {
  const wrap = (words: string): string[] => wrapToWidth(words, Math.min(columns, WIDEST_TEXT));
  return [
    ...wrap(title).map((line): Span[] => [[line, 'bold']]),
    ...(text === '' ? [] : wrap(text)).map((line): Span[] => [[line]]),
    ...steps.flatMap(({ words, isDone }): Span[][] => {
      const [first = '', ...others] = wrapToWidth(words, Math.min(columns, WIDEST_TEXT) - 2);
      return [[isDone ? ['✓ ', 'green'] : ['· ', 'gray'], [first]], ...others.map((line): Span[] => [[`  ${line}`]])];
    }),
  ];
}

function panelLines(panel: TerminalPanel | null, { columns, rows }: Size): Span[][] {
  if (panel === null) return [];
  if (panel.kind === 'commands')
    return panel.lines.slice(0, rows).map((line) => [line.startsWith(' ') ? [line, 'cyan'] : [line, 'bold']]);
  const most = { columns: Math.min(columns, WIDEST_TEXT), rows: Math.min(rows, Math.max(CARD, rows - BELOW_CARD)) };
  const [top = '', headline = '', ...rest] = terminalCard(panel.message, most);
  return [[[top, 'yellow']], [[headline, 'bold']], ...rest.map((line): Span[] => [[line]])];
}

function trafficLines(traffic: readonly Traffic[], { columns, rows }: Size): Span[][] {
  if (rows <= 0) return [];
  const lines = traffic.slice(-rows).flatMap((each): Span[][] => {
    if (!('text' in each)) return [webhookLine(each, columns)];
    return wrapToWidth(each.text, Math.min(columns, WIDEST_TEXT)).map((line) => [[line, each.style]]);
  });
  return lines.slice(-rows);
}

/** The id is whole, so that a person can copy it; of a state whose name is longer than the room the beginning is shown. */
function webhookLine({ event, at, took }: Arrival, columns: number): Span[] {
  const { site = '', purchaseId = '' } = event.data as { site?: string; purchaseId?: string };
  const { text, brief, style } = wordsFor(event);
  const isWide = columns >= WIDE;
  const gap = isWide ? '  ' : ' ';
  const id = printable(purchaseId);
  const time: Span[] = isWide ? [[`${new Date(at).toTimeString().slice(0, 8)}${gap}`, 'gray']] : [];
  const duration = took < 1_000 ? `${took} ms` : `${Math.round(took / 1_000)} s`;
  const before: Span[] = [...time, ['✓ ', 'green'], [duration.padStart(TOOK), 'gray'], [`${gap}${site.padEnd(SITE)}${gap}`]];
  const taken = before.reduce((sum, [part]) => sum + textWidth(part), 0);
  const room = Math.max(0, columns - taken - gap.length - Math.max(ID, textWidth(id)));
  const words = padToWidth(cutToWidth(isWide && textWidth(text) <= room ? text : brief, room), room);
  return [...before, style === null ? [words] : [words, style], [`${gap}${id}`, 'gray']];
}

function keysLine(keys: Scene['keys']): Span[] {
  return keys.flatMap(([key, action], at): Span[] => [
    [`${at === 0 ? '' : '  '}${key}`, 'bold'],
    [` ${action}`, 'gray'],
  ]);
}
