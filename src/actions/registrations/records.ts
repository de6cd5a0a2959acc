/** Records of a text, one after the other: usually a line, in CSV now and then several. */

import { createPauses } from '../../runtime/loops/pauses.ts';
import { LONGEST_RECORD } from './csv.ts';
import { isEmptyRow } from './header.ts';
import type { TextLine } from './lines.ts';
import { BROKEN_QUOTES, type Read, type registrationReader, TOO_LONG } from './registrations.ts';

export interface RecordRead {
  /** The lines it was written in. */
  readonly first: number;
  readonly last: number;
  /** The text as written; null when it is too long to be kept. */
  readonly text: string | null;
  readonly read: Exclude<Read, 'nothing'>;
}

/** An unclosed quotation mark must not take the rest of the file with it. */
const MOST_LINES = 200;
/** Lines with content that say how all are read. */
const FIRST_LINES = 20;

/** Whether a cell is open where it was not before, and the other way round: each cell that is closed has two marks, or four. */
const turnsQuotes = (text: string): boolean => text.split('"').length % 2 === 0;

/**
 * Reads line after line, and lets other work come first now and then. A quoted cell may go on in the lines that follow; when they do not close it as CSV should, the
 * line in which it opens is bad, and those that follow are read by themselves.
 */
export async function* recordsOf(
  lines: AsyncIterable<TextLine>,
  reader: ReturnType<typeof registrationReader>,
): AsyncGenerator<RecordRead> {
  const source = lines[Symbol.asyncIterator]();
  let ahead: TextLine[] = [];
  const next = async (): Promise<TextLine | null> => {
    const waiting = ahead.shift();
    if (waiting !== undefined) return waiting;
    const { value, done } = await source.next();
    return done ? null : value;
  };

  const pause = createPauses();
  try {
    const begun: TextLine[] = [];
    for (let line = await next(); line !== null; line = await next()) {
      await pause();
      if (line.text === null || !isEmptyRow(line.text)) begun.push(line);
      if (begun.length === FIRST_LINES) break;
    }
    const headed = reader.begin(begun);
    ahead = begun.filter(({ number }) => number > headed);
    for (let line = await next(); line !== null; line = await next()) {
      await pause();
      const read = line.text === null ? { problem: TOO_LONG } : reader.line(line.text);
      if (read === 'nothing') continue;
      if (read !== 'unfinished') {
        yield { first: line.number, last: line.number, text: line.text, read };
        continue;
      }
      const { whole, taken } = await readOn(line.text!, next, reader);
      if (whole === null) {
        yield { first: line.number, last: line.number, text: line.text, read: { problem: BROKEN_QUOTES } };
        ahead = [...taken, ...ahead];
      } else {
        const text = [line, ...taken].map((each) => each.text).join('\n');
        yield { first: line.number, last: taken.at(-1)!.number, text, read: whole };
      }
    }
  } finally {
    // A consumer that stops half-way leaves no file open.
    await source.return?.();
  }
}

/** Takes the lines that close the cell which opens in `begun`; `whole` is null when none closes it as CSV should. */
async function readOn(
  begun: string,
  next: () => Promise<TextLine | null>,
  reader: ReturnType<typeof registrationReader>,
): Promise<{ whole: RecordRead['read'] | null; taken: TextLine[] }> {
  const taken: TextLine[] = [];
  let text = begun;
  while (taken.length < MOST_LINES) {
    const more = await next();
    if (more === null) break;
    taken.push(more);
    if (more.text === null) break;
    text = `${text}\n${more.text}`;
    if (text.length > LONGEST_RECORD) break;
    // The cell is still open. A text is parsed once, when it is whole: parsed with each line, an open cell would cost the square of its size.
    if (!turnsQuotes(more.text)) continue;
    const read = reader.line(text);
    if (read === 'unfinished') continue;
    const isBroken = read === 'nothing' || ('problem' in read && read.problem === BROKEN_QUOTES);
    return { whole: isBroken ? null : read, taken };
  }
  return { whole: null, taken };
}
