/** What the demo needs of the process that runs it. */

export type Style = 'bold' | 'gray' | 'green' | 'red' | 'yellow' | 'cyan';

/** Where the demo shows itself. */
export interface Stage {
  write(line: string): void;
  paint(style: Style, text: string): string;
}
