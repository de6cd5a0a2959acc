import { expect, test } from 'vitest';
import { runCommand } from './run.ts';

const COMMANDS = [
  'start',
  'demo',
  'open',
  'simulate',
  'watch',
  'unwatch',
  'status',
  'flow',
  'activity',
  'poll',
  'plan',
  'rehearse',
  'migrate',
  'config',
  'listen',
  'incidents',
  'silences',
  'sessions',
  'completion',
  'init',
];

test.each(COMMANDS)('%s is in the list and has help with examples', async (command) => {
  expect((await runCommand(['--help'])).stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
  const { exitCode, stdout } = await runCommand([command, '--help']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(new RegExp(`Examples:\n  \\$ purchase-watch ${command}`));
});

test.each(COMMANDS)('%s meets an unknown option with exit code 2', async (command) => {
  expect(await runCommand([command, '--nonsense'], {}, { isTTY: true })).toMatchObject({ exitCode: 2, stdout: '' });
});
