/** The Markdown of Adaptive Cards, made from the markup of messages. */

/** A date with its fallback, a link, code, an escape, or one character. */
const PIECES = /<!date\^[^|>\n]*\|([^>\n]*)>|<([^|>\n]+)\|([^>\n]*)>|`([^`\n]*)`|&(amp|lt|gt);|[\s\S]/gu;
const ENTITIES = { amp: '&', lt: '<', gt: '>' } as const;
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

const LINK = /<(https?:[^|>\n]+)\|([^>\n]*)>/;

/** Markup as Markdown; each line is a paragraph, since cards join single lines. Dates are in UTC. */
export function markdown(markup: string): string {
  return markup.split('\n').map(lineOf).join('\n\n');
}

function lineOf(line: string): string {
  const [before = '', ...rest] = line.split(LINK);
  // After a text come the address and the label of a link, and the next text.
  const parts = rest.map((part, index) => {
    if (index % 3 === 0) return '';
    const text = escaped(plainText(part));
    return index % 3 === 1 ? `[${text}](${plainText(rest[index - 1]!).replace(/[()\\\s]/g, percent)})` : text;
  });
  return escaped(plainText(before)) + parts.join('');
}

/** A character that would end the address of a link, percent-encoded. */
function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

/** Markup as text, for where a card shows no Markdown; links are spelled out. */
export function plainText(markup: string): string {
  return markup.replace(PIECES, (whole, date, url, label, code, entity: keyof typeof ENTITIES | undefined) => {
    if (entity !== undefined) return ENTITIES[entity];
    if (url !== undefined) return plainText(`${label}: ${url}`);
    const inner: string | undefined = date ?? code;
    return inner === undefined ? whole : plainText(inner);
  });
}
