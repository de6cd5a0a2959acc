/** The lines of a text that may be larger than memory. */

import { AppError } from '../../domain/values/errors.ts';

/** Far longer than any registration; a file that is not text may have no line ends at all. */
const LONGEST_LINE = 64 * 1_024;
/** Bytes that say in which encoding the rest is. */
const TELLING = 1_024;
const UTF_16_MARKS = { fffe: 'utf-16le', feff: 'utf-16be' } as const;
/** The first bytes of xlsx and ods, and of xls. */
const WORKBOOKS = ['504b0304', 'd0cf11e0'];
const SAVE_AS = 'save it as "CSV UTF-8", and give that file';

export interface TextLine {
  /** From 1. */
  readonly number: number;
  /** Without its line end; null when it is too long to be one of ours. */
  readonly text: string | null;
}

/** Splits a stream into lines, whatever their ends, in UTF-8 or UTF-16. Throws AppError `invalid` when it is no text. */
export async function* linesOf(stream: AsyncIterable<Buffer | string>): AsyncGenerator<TextLine> {
  let number = 0;
  let rest = '';
  let tooLong = false;
  const line = (text: string): TextLine => {
    number += 1;
    const isTooLong = tooLong || text.length > LONGEST_LINE;
    tooLong = false;
    return { number, text: isTooLong ? null : text };
  };
  for await (const more of decoded(stream)) {
    const text = rest + more;
    // The end of \r\n may be in the part that follows.
    const parts = text.split(text.endsWith('\r') ? /\r\n|\n|\r(?!$)/ : /\r\n|[\n\r]/);
    rest = parts.pop()!;
    for (const part of parts) yield line(part);
    if (rest.length > LONGEST_LINE) {
      tooLong = true;
      rest = rest.endsWith('\r') ? '\r' : '';
    }
  }
  if (rest !== '' || tooLong) yield line(rest.replace(/\r$/, ''));
}

/** Drops the byte order mark, too. */
async function* decoded(stream: AsyncIterable<Buffer | string>): AsyncGenerator<string> {
  let head = Buffer.alloc(0);
  let decoder: TextDecoder | null = null;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    if (decoder !== null) yield decoder.decode(bytes, { stream: true });
    else {
      head = Buffer.concat([head, bytes]);
      if (head.length < TELLING) continue;
      decoder = new TextDecoder(encodingOf(head));
      yield decoder.decode(head, { stream: true });
    }
  }
  yield decoder === null ? new TextDecoder(encodingOf(head)).decode(head) : decoder.decode();
}

/** UTF-16 without a mark is known by its zeros: signs of ASCII have one in each second byte, and ids are of ASCII. */
function encodingOf(head: Buffer): string {
  if (WORKBOOKS.includes(head.toString('hex', 0, 4))) throw new AppError('invalid', `the file is a workbook; ${SAVE_AS}`);
  const marked = UTF_16_MARKS[head.toString('hex', 0, 2) as keyof typeof UTF_16_MARKS];
  if (marked !== undefined) return marked;
  const zerosAt = (rest: number): number => head.filter((byte, at) => byte === 0 && at % 2 === rest).length;
  const [even, odd] = [zerosAt(0), zerosAt(1)];
  const isUtf16 = Math.max(even, odd) * 8 > head.length && Math.min(even, odd) * 8 < Math.max(even, odd);
  return !isUtf16 ? 'utf-8' : odd > even ? 'utf-16le' : 'utf-16be';
}
