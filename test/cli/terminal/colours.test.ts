/** Colours as https://no-color.org, Node.js and the options of the program say. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { run } from '../../../src/main.ts';
import { runCommand } from '../run.ts';

const COLOUR = '\u001b[';
const TERM = 'xterm-256color';

describe('colours', () => {
  test.each<[what: string, options: readonly string[], env: NodeJS.ProcessEnv, isTTY: boolean, are: boolean]>([
    ['on a terminal', [], { TERM }, true, true],
    ['in a pipe', [], { TERM }, false, false],
    ['on a terminal that knows none', [], { TERM: 'dumb' }, true, false],
    ['with NO_COLOR', [], { TERM, NO_COLOR: '1' }, true, false],
    ['with an empty NO_COLOR', [], { TERM, NO_COLOR: '' }, true, true],
    ['in a pipe with FORCE_COLOR', [], { FORCE_COLOR: '1' }, false, true],
    ['on a terminal with FORCE_COLOR=0', [], { TERM, FORCE_COLOR: '0' }, true, false],
    ['with --no-color', ['--no-color'], { TERM }, true, false],
    ['with --no-color and FORCE_COLOR', ['--no-color'], { FORCE_COLOR: '1' }, true, false],
    ['in a pipe with --color', ['--color'], {}, false, true],
    ['with --color and NO_COLOR', ['--color'], { NO_COLOR: '1' }, false, true],
  ])('%s', async (_, options, env, isTTY, are) => {
    for (const argv of [
      [...options, 'config'],
      ['config', ...options],
      ['--help', ...options],
    ]) {
      const { exitCode, stdout } = await runCommand(argv, { ...env }, { isTTY });
      expect([argv, exitCode, stdout.includes(COLOUR)]).toEqual([argv, 0, are]);
    }
  });

  test.each([['nope'], ['why', 'p'], ['plan', '--nope']])(
    'the error of %j is red where standard error is a terminal',
    async (...argv) => {
      const stderrOf = async (isTTY: boolean) => {
        const stderr = Object.assign(new PassThrough(), { isTTY });
        // Standard output is a pipe all the while.
        const context = {
          env: { TERM, DATA_DIR: '/nowhere' },
          stdin: new PassThrough(),
          stdout: new PassThrough(),
          stderr,
          isTTY: false,
        };
        expect(await run(argv, context)).toBeGreaterThan(0);
        return String(stderr.read());
      };
      expect(await stderrOf(true)).toMatch(/^\u001b\[31merror:\u001b\[39m /);
      expect(await stderrOf(false)).toMatch(/^error: /);
    },
  );

  test('do not change what a program reads', async () => {
    expect(await runCommand(['config', '--json', '--color'])).toEqual(await runCommand(['config', '--json']));
  });
});
