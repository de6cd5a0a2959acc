/** The part of an answer that is kept. Receivers decide what they answer, so it is made safe to store and to show. */
import { type Hide, hideNothing } from './hiding.ts';

const LONGEST = 500;
/** Controls, invisible marks and lone surrogates: Postgres refuses some, terminals and logs obey others. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]+/gu;

/** Credentials as a receiver writes them out that shows a request: these may be another's. */
const CREDENTIALS = /\b(Bearer|Basic)(\s+)[\w.~+/=-]{8,}/gi;

/** The text without what `hide` takes out, and without anybody's credentials; null when nothing of it may be kept. */
export function withoutCredentials(text: string, hide: Hide): string | null {
  return hide(text)?.replace(CREDENTIALS, '$1$2[hidden]') ?? null;
}

/** A text as one line without anything that cannot be seen. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, ' ').trim();
}

/** A text of several lines without anything else that cannot be seen. */
export function cleared(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(UNPRINTABLE, (found) => found.replace(/[^\n\t]/g, ''));
}

/** Shortens a text to one printable line without what `hide` takes out; empty when nothing of it may be kept. */
export function excerpt(text: string, hide: Hide = hideNothing): string {
  if (text === '') return '';
  const line = printable(withoutCredentials(text, hide) ?? '');
  if (line.length <= LONGEST) return line;
  return `${line.slice(0, LONGEST - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
