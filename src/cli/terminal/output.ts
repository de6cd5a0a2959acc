/** How commands write: tables for people, JSON for programs, colours only on a terminal. */
import { styleText } from 'node:util';
import type { CliContext } from './context.ts';

type Style = Parameters<typeof styleText>[0];

/** The text in a style, or plain when the output is not a terminal or NO_COLOR is set. */
export function styled(context: CliContext, style: Style, text: string): string {
  const plain = !context.isTTY || (context.env.NO_COLOR ?? '') !== '';
  return plain ? text : styleText(style, text, { validateStream: false });
}

/** Text from outside on one line: a terminal obeys control characters, and invisible marks change what is read. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escapes);
}

/** JSON that means the same and does nothing to a terminal; for programs it stays as it is, byte for byte. */
export function harmlessJson({ isTTY }: CliContext, json: string): string {
  return isTTY ? json.replace(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, escapes) : json;
}

/** One character as JSON writes what it cannot hold as it is. */
function escapes(character: string): string {
  return character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Writes one line. */
export function printLine(context: CliContext, line = ''): void {
  context.stdout.write(`${line}\n`);
}

/** Writes data for programs; amounts keep their digits. */
export function printJson(context: CliContext, value: unknown): void {
  printLine(context, harmlessJson(context, JSON.stringify(value, null, 2)));
}

/** Writes aligned columns under their titles. A column whose cells are all numbers is aligned to the right. */
export function printTable(
  context: CliContext,
  titles: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): void {
  const texts = rows.map((row) => row.map((cell) => (cell === null ? '-' : printable(String(cell)))));
  const widths = titles.map((title, column) => Math.max(title.length, ...texts.map((row) => row[column]?.length ?? 0)));
  const isNumeric = titles.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (isNumeric[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join('  ')
      .trimEnd();
  printLine(context, styled(context, 'bold', line(titles)));
  for (const row of texts) printLine(context, line(row));
}

/** Writes labels and what they stand for, one below the other; what is null is left out. */
export function printFacts(
  context: CliContext,
  facts: readonly (readonly [label: string, value: string | null, style?: Style])[],
): void {
  const width = Math.max(...facts.map(([label, value]) => (value === null ? 0 : label.length)));
  for (const [label, value, style] of facts) {
    if (value === null) continue;
    const text = printable(value);
    printLine(context, `${label.padEnd(width)}  ${style === undefined ? text : styled(context, style, text)}`);
  }
}

export { counted } from '../../domain/values/counts.ts';
