/** The lines of a text that may be larger than memory. */

/** Far longer than any registration; a file that is not text may have no line ends at all. */
const LONGEST_LINE = 64 * 1_024;

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without its line end; null when it is too long to be one of ours. */
  readonly text: string | null;
}

/** Splits a stream into lines, whatever their ends; a byte order mark at the beginning is dropped. */
export async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<Line> {
  stream.setEncoding('utf8');
  let number = 0;
  let rest = '';
  let tooLong = false;
  const line = (text: string): Line => {
    number += 1;
    const clean = (number === 1 ? text.replace(/^\ufeff/, '') : text).replace(/\r$/, '');
    const isTooLong = tooLong || clean.length > LONGEST_LINE;
    tooLong = false;
    return { number, text: isTooLong ? null : clean };
  };
  for await (const chunk of stream as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop()!;
    for (const part of parts) yield line(part);
    if (rest.length > LONGEST_LINE) {
      tooLong = true;
      rest = '';
    }
  }
  if (rest !== '' || tooLong) yield line(rest);
}
