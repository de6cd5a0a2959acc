/** A program for a terminal: draws numbered lines, and ends as its argument says. */
import { ReadStream, WriteStream } from 'node:tty';
import { openDisplay } from '../../../src/demo/terminal/display.ts';

const [, , end] = process.argv;
const { stdin, stdout } = process;
if (!(stdin instanceof ReadStream && stdout instanceof WriteStream)) throw new Error('this is for a terminal');
let key = 'no key';
const onKey = (pressed: string): void => {
  key = pressed;
  if (pressed === 'x' && end === 'throws') throw new Error('thrown on purpose');
  if (pressed === 'x') process.exit(3);
  draw();
};
const close = (): void => display.close();
const display = openDisplay({ output: stdout, input: stdin, end: close }, { onKey, onResize: () => draw() });
/** Fills every line to the terminal's edge. */
const draw = (): void => {
  const { columns, rows } = display.size();
  display.draw(Array.from({ length: rows }, (_, at) => `${at + 1} ${key} `.padEnd(columns, '.')));
};
draw();
