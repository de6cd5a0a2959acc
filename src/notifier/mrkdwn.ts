/** Slack's own markup, made from values that other people chose. */
import type { Instant } from '../core/purchase.ts';
import { printable } from './excerpt.ts';

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Makes a value harmless and at most `longest` characters long as Slack counts them, which is after escaping. It is cut
 * between characters, never within an escape.
 */
export function plain(value: string, longest: number): string {
  const pieces = [...printable(value)].map((character) => ESCAPES[character] ?? character);
  let length = 0;
  const fitting = pieces.findIndex((piece) => {
    length += piece.length;
    return length > longest;
  });
  if (fitting === -1) return pieces.join('');
  // Room for the ellipsis: one piece less, or a few when the last ones are short.
  let kept = pieces.slice(0, fitting);
  while (kept.join('').length > longest - 1) kept = kept.slice(0, -1);
  return `${kept.join('')}…`;
}

/** A value set as code, so that its own `*` and `_` stay what they are. */
export function code(value: string, longest: number): string {
  return `\`${plain(value.replaceAll('`', "'"), longest - 2)}\``;
}

/** A moment that every reader sees in the time zone of their own; UTC where Slack cannot. */
export function moment(at: Instant): string {
  const utc = `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `<!date^${Math.floor(at / 1_000)}^{date_short_pretty} at {time}|${utc}>`;
}

/** A link with its text. */
export function link(url: string, label: string): string {
  return `<${url.replaceAll('&', '&amp;').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('|', '%7C')}|${plain(label, 75)}>`;
}

/** Markup as a terminal shows it: links spelled out, dates by their fallback, no marks. */
export function unmarked(markup: string): string {
  return markup
    .replace(/<!date\^[^|>]*\|([^>]*)>/g, '$1')
    .replace(/<([^|>]+)\|([^>]*)>/g, '$2: $1')
    .replace(/<([^>]+)>/g, '$1')
    .replace(/\*([^*\n]+)\*/g, '$1')
    .replaceAll('`', '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
