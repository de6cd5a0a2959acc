/** A terminal that is drawn on is left as it was, whatever ends the program. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openTerminal, type TestTerminal } from '../../support/terminal.ts';

const DRAWS = fileURLToPath(new URL('./draws.ts', import.meta.url));
/** The shell says afterwards how the program left the terminal. */
const drawing = (end: string) =>
  openTerminal(['sh', '-c', `echo before; "$0" "$@"; echo "code $?"; stty -a`, process.execPath, DRAWS, end]);
const shows = ({ lines }: TestTerminal, text: string | RegExp) => expect.poll(() => lines().join('\n')).toMatch(text);
const lastOf = (lines: readonly string[]) => lines.at(-1);

test('every line is drawn to the edge, again after a change of size, and only where it changed', async () => {
  const terminal = drawing('exits');
  await shows(terminal, /^24 no key \.+$/m);
  expect(terminal.lines()).toEqual(Array.from({ length: 24 }, (_, at) => `${at + 1} no key `.padEnd(80, '.')));
  expect(terminal.isCursorHidden()).toBe(true);
  terminal.resize(100, 30);
  await shows(terminal, /^30 no key \.+$/m);
  expect(terminal.lines()).toEqual(Array.from({ length: 30 }, (_, at) => `${at + 1} no key `.padEnd(100, '.')));
  terminal.resize(20, 5);
  await expect.poll(() => lastOf(terminal.lines())).toBe('5 no key '.padEnd(20, '.'));
  expect(terminal.emulator.buffer.active.length).toBe(5);
  // An arrow is one key, and none of the letters that its sequence holds.
  terminal.press('\u001b[A');
  await shows(terminal, /^5 up \.+$/m);
  terminal.press('x');
  expect(await terminal.ended).toBe(0);
});

test.each([
  ['a key that ends the demo', 'exits', 'q', 'code 0'],
  ['Ctrl-C', 'exits', '\u0003', 'code 0'],
  ['process.exit', 'exits', 'x', 'code 3'],
  ['an error that nothing catches', 'throws', 'x', 'Error: thrown on purpose'],
])('after %s the terminal is as before', async (_, end, keys, shown) => {
  const terminal = drawing(end);
  await shows(terminal, '24 no key');
  expect(terminal.emulator.buffer.active.type).toBe('alternate');
  terminal.press(keys);
  expect(await terminal.ended).toBe(0);
  const { emulator, lines, isCursorHidden } = terminal;
  expect([emulator.buffer.active.type, emulator.modes.wraparoundMode, isCursorHidden()]).toEqual(['normal', true, false]);
  const all = Array.from({ length: emulator.buffer.active.length }, (_, at) =>
    emulator.buffer.active.getLine(at)!.translateToString(true),
  );
  expect(all[0]).toBe('before');
  expect(all.join('\n')).toContain(shown);
  expect(lines().join(' ')).toMatch(/ icanon .* echo /s);
});
