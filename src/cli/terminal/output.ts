/** How commands write: tables for people, JSON for programs, colours where they are wanted. */
import { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { isDecimal, type JsonValue } from '../../domain/values/exact-json.ts';
import { textWidth, wrapToWidth } from '../../domain/values/text-width.ts';
import type { CliContext } from './context.ts';

type Style = Parameters<typeof styleText>[0];

/** The text in a style, or plain where there are no colours. */
export function styled(context: CliContext, style: Style, text: string): string {
  return hasColours(context) ? styleText(style, text, { validateStream: false }) : text;
}

/** As Node.js decides: FORCE_COLOR says it for every output; NO_COLOR and what is known of the terminal for a terminal. */
export function hasColours({ env, isTTY }: Pick<CliContext, 'env' | 'isTTY'>): boolean {
  if (env.FORCE_COLOR === undefined && !isTTY) return false;
  return WriteStream.prototype.getColorDepth(env) > 2;
}

/** Standard error as an output: it may be a terminal where standard output is none, and the other way round. */
export function toStandardError(context: CliContext): CliContext {
  const stream: NodeJS.WritableStream & { readonly isTTY?: boolean } = context.stderr;
  return { ...context, stdout: stream, isTTY: stream.isTTY === true };
}

/** Writes a line beside the results, to standard error; nothing with --quiet. */
export function printRemark(context: CliContext, line: string): void {
  if (!context.isQuiet) printLine(toStandardError(context), line);
}

/** A text for standard error, with its `error:` in red where that is a terminal. */
export function errorLines(context: CliContext, text: string): string {
  return text.replace(/^error:/, (word) => styled(toStandardError(context), 'red', word));
}

/** A value as it came: amounts keep their digits. */
export function textOf(value: JsonValue): string {
  return isDecimal(value) ? value.rawJSON : typeof value === 'string' ? value : JSON.stringify(value);
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

/**
 * Writes a text, and answers whether it was taken, once it was: a next page is read when the reader of the output has taken this one,
 * and a reader that has seen enough ends the command.
 */
export function isTaken({ stdout }: CliContext, text: string): Promise<boolean> {
  return new Promise((resolve) => stdout.write(text, (error) => resolve(error == null)));
}

/** Writes data for programs; amounts keep their digits. */
export function printJson(context: CliContext, value: unknown): void {
  printLine(context, harmlessJson(context, JSON.stringify(value, null, 2)));
}

/** How many columns a line may have; a pipe takes any. */
export function lineWidth({ stdout, isTTY }: CliContext): number {
  const { columns }: { columns?: number } = stdout as NodeJS.WritableStream & { columns?: number };
  // A terminal that does not know its width says 0.
  return isTTY && columns ? columns : Number.POSITIVE_INFINITY;
}

/** Writes a text of people's words, at most as wide as the terminal; `indent` stands before each line. */
export function printText(
  context: CliContext,
  text: string,
  { style, indent = '' }: { style?: Style; indent?: string } = {},
): void {
  for (const line of wrapToWidth(printable(text), lineWidth(context) - indent.length))
    printLine(context, indent + (style === undefined ? line : styled(context, style, line)));
}

/** Fewer columns than this for the values are not worth an indent: the terminal breaks the lines. */
const LEAST_VALUE = 20;

/** Writes labels and what they stand for, one below the other, long values on several lines of the terminal; what is null is left out. */
export function printFacts(
  context: CliContext,
  facts: readonly (readonly [label: string, value: string | null, style?: Style])[],
): void {
  const width = Math.max(...facts.map(([label, value]) => (value === null ? 0 : label.length)));
  for (const [label, value, style] of facts) {
    if (value === null) continue;
    const text = printable(value);
    const most = lineWidth(context) - width - 2;
    const lines = most < LEAST_VALUE || textWidth(text) <= most ? [text] : wrapToWidth(text, most);
    for (const [at, line] of lines.entries())
      printLine(
        context,
        `${(at === 0 ? label : '').padEnd(width)}  ${style === undefined ? line : styled(context, style, line)}`,
      );
  }
}

export { counted } from '../../domain/values/counts.ts';
