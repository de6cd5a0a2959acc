/** A terminal that is drawn on in place: its alternate screen, its keys, and how it is left as it was. */
import { emitKeypressEvents, type Key } from 'node:readline';
import type { StageTerminal } from './stage.ts';

// A width that terminal and program count differently must not break a line, so lines do not wrap.
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const CLEAR = '\u001b[2J';
// Before the line: behind a full line it would take the last character.
const CLEAR_LINE = '\u001b[2K';
// Terminals that know these show all changes at once; others ignore them.
const BEGIN = '\u001b[?2026h';
const END = '\u001b[?2026l';
const DEFAULT_SIZE = { columns: 80, rows: 24 };

/** Takes the terminal; `onKey` gets the key's character or name, such as `b` or `space`. However the process ends, short of SIGKILL, the terminal is left as it was. */
export function openDisplay(
  { output, input, end }: StageTerminal,
  { onKey, onResize }: { onKey: (key: string) => void; onResize: () => void },
) {
  let shown: readonly string[] = [];
  const resized = (): void => {
    shown = [];
    output.write(CLEAR);
    onResize();
  };
  const pressed = (_: string | undefined, { name, ctrl }: Key): void => {
    // In raw mode Ctrl-C is a key like any other.
    if (name === 'q' || (ctrl && name === 'c')) end();
    else if (name !== undefined && !ctrl) onKey(name);
  };
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    process.off('exit', close).off('uncaughtExceptionMonitor', close);
    output.off('resize', resized);
    input?.off('keypress', pressed).setRawMode(false).pause();
    output.write(LEAVE);
  };
  process.once('exit', close).once('uncaughtExceptionMonitor', close);
  output.on('resize', resized).write(ENTER + CLEAR);
  if (input !== null) {
    emitKeypressEvents(input);
    input.setRawMode(true).resume().on('keypress', pressed);
  }
  return {
    // A terminal that does not know its size says 0.
    size: () => ({ columns: output.columns || DEFAULT_SIZE.columns, rows: output.rows || DEFAULT_SIZE.rows }),
    /** Shows these lines from the top; writes only those that changed, so that a person can select the others. */
    draw: (lines: readonly string[]): void => {
      if (!isOpen) return;
      const changes = Array.from({ length: Math.max(lines.length, shown.length) }, (_, at) =>
        lines[at] === shown[at] ? '' : `\u001b[${at + 1};1H${CLEAR_LINE}${lines[at] ?? ''}`,
      ).join('');
      shown = lines;
      if (changes !== '') output.write(BEGIN + changes + END);
    },
    /** Leaves the terminal as it was. */
    close,
  };
}
