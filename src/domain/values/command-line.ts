/** Commands that people paste into a shell: bash, zsh, fish or sh. */

/** Needs no quotes in any shell. */
const BARE = /^[\w+:,./@-][\w+:,./@=-]*$/;
/** Can be seen, and holds no backtick, which would end the code that a message sets a command as. */
const VISIBLE = /^[[\p{L}\p{M}\p{N}\p{P}\p{S} ]--[`\p{Default_Ignorable_Code_Point}]]*$/v;
/** Chats make links, mentions, dates and single blanks of these, so that a copy of the command would differ. */
const CHANGED_BY_CHATS = /:\/\/|www\.|\S@|\{\{| {2}/i;

/**
 * A value as one word of a shell, on one line, which the shell gives to the program unchanged; without line ends at the end of the value,
 * which no id has. Values that cannot be seen are spelled in octal digits.
 */
export function shellWord(value: string): string {
  if (BARE.test(value)) return value;
  return VISIBLE.test(value) ? quoted(value) : spelled(value);
}

/**
 * A command of this program, written as a template: commandLine`why ${id} --site ${site}`. Each value becomes one word. One that begins
 * with `-` is no option: it follows its option after `=`, or stands behind `--` at the end.
 */
export function commandLine(texts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const words = ['purchase-watch'];
  const operands: string[] = [];
  for (const [index, text] of texts.entries()) {
    words.push(...text.split(' ').filter((word) => word !== ''));
    if (index === values.length) break;
    const value = String(values[index]);
    const word = CHANGED_BY_CHATS.test(value) ? spelled(value) : shellWord(value);
    if (!value.startsWith('-')) words.push(word);
    else if (words.at(-1)!.startsWith('--')) words.push(`${words.pop()}=${word}`);
    else operands.push(word);
  }
  return [...words, ...(operands.length === 0 ? [] : ['--', ...operands])].join(' ');
}

/** Within quotes fish obeys a backslash and other shells do not, so quotation marks and backslashes stand outside of quotes. */
function quoted(value: string): string {
  return `'${value.replace(/['\\]/g, String.raw`'\$&'`)}'`;
}

function spelled(value: string): string {
  const format = [...new TextEncoder().encode(value)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /\w/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
  });
  return `"$(printf '${format.join('')}')"`;
}
