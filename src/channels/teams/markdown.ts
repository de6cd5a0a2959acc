/** The Markdown of Adaptive Cards, made from the markup of messages. */
import { translated } from '../people/messages/mrkdwn.ts';

/** Marks anywhere. Cards know emphasis, links and lists; what else Markdown has is escaped in case that a client knows it, too. */
const MARKS = /[\\`*_[\]()~]/g;
/** The signs that make a list or a heading at the beginning of a line. */
const LINE_MARKS = /^(\s*)([-+#])/gm;
const NUMBERED = /^(\s*\d+)\./gm;
/** `{{DATE(…)}}` is a function of cards; parted by a character of no width it is text. */
const FUNCTIONS = /\{(?=\{)/g;
/** Clients make links of addresses and of mail addresses; parted likewise they are text. */
const ADDRESSES = /:(?=\/\/)|www(?=\.)|@(?=[\p{L}\p{N}])/giu;

/** A text that no value in it can give another meaning. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replace(MARKS, '\\$&')
    .replace(LINE_MARKS, '$1\\$2')
    .replace(NUMBERED, '$1\\.')
    .replace(FUNCTIONS, '{\u200b')
    .replace(ADDRESSES, '$&\u200b');
}

/** Markup as Markdown; each line is a paragraph, since cards join single lines. Dates are in UTC. */
export function markdown(markup: string): string {
  return markup.split('\n').map(lineOf).join('\n\n');
}

function lineOf(line: string): string {
  const link = (address: string, label: string): string => `[${escaped(label)}](${address.replace(/[()\\\s]/g, percent)})`;
  return translated(line, { text: escaped, link });
}

/** A character that would end the address of a link, percent-encoded. */
function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
