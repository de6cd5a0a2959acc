/** The Markdown of Adaptive Cards, made from the markup of messages. */

/** A date with its fallback, a link, code, an escape, or one character. */
const PIECES = /<!date\^[^|>\n]*\|([^>\n]*)>|<([^|>\n]+)\|([^>\n]*)>|`([^`\n]*)`|&(amp|lt|gt);|[\s\S]/gu;
const ENTITIES = { amp: '&', lt: '<', gt: '>' } as const;
/** Marks anywhere. Cards know emphasis, links and lists; what else Markdown has is escaped in case that a client knows it, too. */
const MARKS = /[\\`*_[\]()~]/g;
/** What makes a list, a heading or a quotation at the beginning of a line. */
const LINE_MARKS = /^(\s*)([-+#>])/gm;
const NUMBERED = /^(\s*\d+)\./gm;
/** `{{DATE(…)}}` is a function of cards; parted by a character of no width it is text. */
const FUNCTIONS = /\{(?=\{)/g;

/** A text that no value in it can give another meaning. */
function escaped(text: string): string {
  return text.replace(MARKS, '\\$&').replace(LINE_MARKS, '$1\\$2').replace(NUMBERED, '$1\\.').replace(FUNCTIONS, '{\u200b');
}

/** Markup as Markdown; each line is a paragraph, since cards join single lines. Dates are in UTC, and links spelled out. */
export function markdown(markup: string): string {
  const text = plainText(markup);
  return text.split('\n').map(escaped).join('\n\n');
}

/** Markup as text, for where a card shows no Markdown. */
export function plainText(markup: string): string {
  return markup.replace(PIECES, (whole, date, url, label, code, entity: keyof typeof ENTITIES | undefined) => {
    if (entity !== undefined) return ENTITIES[entity];
    if (url !== undefined) return plainText(`${label}: ${url}`);
    const inner: string | undefined = date ?? code;
    return inner === undefined ? whole : plainText(inner);
  });
}
