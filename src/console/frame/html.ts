/** Templates: what is put into one is escaped, unless a template made it. */
import { html, raw } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export { html };

export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** Markup that this program wrote; never for text that came from outside. */
export const trusted: (markup: string) => HtmlEscapedString = raw;

export const NOTHING: HtmlEscapedString = raw('');

const NO_BREAK = '\u00a0';

/** A number with its thousands apart, which no line end parts. */
export function number(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+(?!\d))/g, NO_BREAK);
}

/** Text whose numbers stay with their units: `24 min 47 s`. */
export function tied(text: string): string {
  return text.replace(/(\d) (?=(?:\d{3}(?!\d)|[A-Z]{3}\b|(?:min|ms|s|h|d|%)(?!\w)))/g, `$1${NO_BREAK}`);
}
