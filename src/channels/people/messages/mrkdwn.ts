/** The markup of messages, made from values that other people chose. It is Slack's; another channel translates it. */
import type { Instant } from '../../../domain/values/time.ts';
import { printable } from '../../http/excerpt.ts';

/** An id that is cut is of no use, so one that is as long as any may be is shown whole. */
const LONGEST_ID = 210;
const LONGEST_COMMAND = 260;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  // Ends or begins code, which no sign before it prevents.
  ['`', "'"],
]);

/**
 * Makes a value harmless and at most `longest` characters long as Slack counts them, which is after escaping. It is cut
 * between characters, never within an escape.
 */
export function plain(value: string, longest: number): string {
  let kept = '';
  // As much of it as leaves room for the ellipsis.
  let shorter = '';
  for (const character of printable(value)) {
    kept += ESCAPES.get(character) ?? character;
    if (kept.length > longest) return `${shorter}…`;
    if (kept.length < longest) shorter = kept;
  }
  return kept;
}

/** A value set as code, so that its own `*` and `_` stay what they are. */
export function code(value: string, longest: number): string {
  return `\`${plain(value, longest - 2)}\``;
}

/** A command set as code. One that is too long to be shown whole gives way to a shorter one, because half of a command does something else. */
export function command(line: string, longest = LONGEST_COMMAND): string {
  const whole = code(line, Number.POSITIVE_INFINITY);
  return whole.length <= longest ? whole : code('purchase-watch status', longest);
}

/** A moment that every reader sees in the time zone of their own; UTC where Slack cannot. */
export function moment(at: Instant): string {
  const utc = `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `<!date^${Math.floor(at / 1_000)}^{date_short_pretty} at {time}|${utc}>`;
}

/** A day, likewise. */
export function day(at: Instant): string {
  return `<!date^${Math.floor(at / 1_000)}^{date_short}|${new Date(at).toISOString().slice(0, 10)}>`;
}

/** One mark, escape or character: what may not be cut through. */
const WHOLE = /<[^<>\n]*>|&(?:amp|lt|gt);|[\s\S]/gu;

/** Markup of at most so many characters: whole lines of it, or of a single line that is too long whole characters. */
export function cut(markup: string, longest: number): string {
  if (markup.length <= longest) return markup;
  const [first = '', ...rest] = markup.split('\n');
  if (first.length + 2 <= longest) {
    let kept = first;
    for (const line of rest) {
      if (kept.length + 1 + line.length + 2 > longest) break;
      kept = `${kept}\n${line}`;
    }
    return `${kept}\n…`;
  }
  let kept = '';
  for (const [piece] of first.matchAll(WHOLE)) {
    if (kept.length + piece.length + 2 > longest) break;
    kept += piece;
  }
  return kept.split('`').length % 2 === 0 ? `${kept}\`…` : `${kept}…`;
}

/** A link whose label is markup of one line without marks. */
export function linked(url: string, label: string): string {
  return `<${url.replaceAll('&', '&amp;').replaceAll('<', '%3C').replaceAll('>', '%3E').replaceAll('|', '%7C')}|${label.replaceAll('|', '¦')}>`;
}

/** Longer than any sensible address of the console; a longer one would crowd out the message. */
const LONGEST_URL = 500;

/** The address of a page of the console; null when there is no console, or the address is too long. */
export function consolePage(consoleUrl: string | null, page: string): string | null {
  if (consoleUrl === null || consoleUrl.length + page.length > LONGEST_URL) return null;
  return consoleUrl.replace(/\/+$/, '') + page;
}

/** Ids that a service gives out have no other signs; other ids are shown as code, which no mark in them can change. */
const LINKABLE_ID = /^(?!\.\.?$)[\w.:-]+$/;

/** A purchase by its id: a link to its page, or code where there is no console. `site` is null where it is not known: then a search for it. */
export function purchaseId(id: string, { consoleUrl, site }: { consoleUrl: string | null; site: string | null }): string {
  if (!LINKABLE_ID.test(id) || site?.isWellFormed() === false) return code(id, LONGEST_ID);
  const page = site === null ? `/purchases?q=${encodeURIComponent(id)}` : `/purchases/${encodeURIComponent(site)}/${id}`;
  const address = consolePage(consoleUrl, page);
  return address === null ? code(id, LONGEST_ID) : linked(address, plain(id, LONGEST_ID));
}

const LINK = /<(https?:[^|>\n]+)\|([^>\n]*)>/;

/** A line of markup in another one's: `text` translates a text, `link` the address and the label of a link. Neither is given any markup. */
export function translated(
  line: string,
  { text, link }: { text(value: string): string; link(address: string, label: string): string },
): string {
  const [before = '', ...rest] = line.split(LINK);
  // After a text come the address and the label of a link, and the next text.
  const parts = rest.map((part, index) => {
    if (index % 3 === 0) return '';
    return index % 3 === 1 ? link(plainText(rest[index - 1]!), plainText(part)) : text(plainText(part));
  });
  return text(plainText(before)) + parts.join('');
}

/** A date with its fallback, a link, code, an escape, or one character. */
const PIECES = /<!date\^[^|>\n]*\|([^>\n]*)>|<([^|>\n]+)\|([^>\n]*)>|`([^`\n]*)`|&(amp|lt|gt);|[\s\S]/gu;
const ENTITIES = { amp: '&', lt: '<', gt: '>' } as const;

/** Markup as text; links are spelled out, dates are in UTC. */
export function plainText(markup: string): string {
  return markup.replace(PIECES, (whole, date, url, label, code, entity: keyof typeof ENTITIES | undefined) => {
    if (entity !== undefined) return ENTITIES[entity];
    if (url !== undefined) return plainText(`${label}: ${url}`);
    const inner: string | undefined = date ?? code;
    return inner === undefined ? whole : plainText(inner);
  });
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
