/** The output, the keys and the end that the demo needs of its process. */
import type { ReadStream, WriteStream } from 'node:tty';

export type Style = 'bold' | 'gray' | 'green' | 'red' | 'yellow' | 'cyan';

/** Where the demo shows itself. */
export interface Stage {
  write(line: string): void;
  paint(style: Style, text: string): string;
  /** Null: lines are written one below the other. */
  readonly terminal: StageTerminal | null;
}

/** A terminal that can be drawn on in place. */
export interface StageTerminal {
  readonly output: WriteStream;
  /** Null: there are no keys. */
  readonly input: ReadStream | null;
  end(): void;
}
