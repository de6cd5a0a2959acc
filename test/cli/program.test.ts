/** How a command is found: by name, by other names, in the help, and when the name is mistyped. */
import { describe, expect, test } from 'vitest';
import { COMMAND_GROUPS } from '../../src/cli/commands.ts';
import { temporaryFile } from '../config/files.ts';
import { runCommand } from './run.ts';

const COMMANDS = COMMAND_GROUPS.flatMap(({ commands }) => commands.map((each) => ({ ...each, name: each.usage.split(' ')[0]! })));
const helpOf = async (...words: string[]) => (await runCommand([...words, '--help'])).stdout;

describe('a word that names no command', () => {
  test.each<[string, RegExp]>([
    ['plna', /^error: unknown command 'plna'\n\(Did you mean plan\?\)\n/],
    ['plna --help', /^error: unknown command 'plna'\n\(Did you mean plan\?\)\n/],
    ['stat', /^error: unknown command 'stat'\n\(Did you mean status\?\)\n/],
    ['help plna', /^error: unknown command 'plna'\n\(Did you mean plan\?\)\n/],
    ['help frobnicate', /^error: unknown command 'frobnicate'\n\(--help shows what is possible\)\n/],
    ['incidents shwo', /^error: unknown command 'shwo'\n\(Did you mean show\?\)\n/],
    ['incidents shwo --help', /^error: unknown command 'shwo'\n\(Did you mean show\?\)\n/],
    ['help incidents shwo', /^error: unknown command 'shwo'\n\(Did you mean show\?\)\n/],
    ['incidents help shwo', /^error: unknown command 'shwo'\n\(Did you mean show\?\)\n/],
    ['delivry', /^error: unknown command 'delivry'\n\(Did you mean deliveries\?\)\n/],
    ['silences frobnicate', /^error: unknown command 'frobnicate'\n\(there are list, add, end\)\n/],
    ['slack frobnicate', /^error: unknown command 'frobnicate'\n\(there is test\)\n/],
  ])('%s: what is wrong, and the nearest one', async (line, said) => {
    expect(await runCommand(line.split(' '))).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringMatching(said) });
  });
});

test('start says which variable is meant by an option that is a setting', async () => {
  for (const argv of [['--port', '9000'], ['--port=9000'], ['--database-url', 'postgres://db/x']]) {
    const { exitCode, stderr } = await runCommand(['start', ...argv]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      argv[0]!.startsWith('--port')
        ? /^error: unknown option '--port'\n\(It is a setting: set PORT\)\n/
        : /^error: unknown option '--database-url'\n\(It is a setting: set DATABASE_URL\)\n/,
    );
  }
  expect((await runCommand(['start', '--wroker'])).stderr).toMatch(/\(Did you mean --worker\?\)/);
});

test('help shows the help of a command of a command', async () => {
  const shown = await helpOf('incidents', 'show');
  expect(shown).toContain('Usage: purchase-watch incidents show [options] <id>');
  for (const words of [
    ['help', 'incidents', 'show'],
    ['incidents', 'help', 'show'],
  ])
    expect(await runCommand(words)).toEqual({ exitCode: 0, stdout: shown, stderr: '' });
});

describe('other names', () => {
  test.each(COMMANDS.flatMap(({ name, aliases = [] }) => aliases.map((alias) => [alias, name])))(
    '%s: %s',
    async (alias, name) => {
      expect(await helpOf(alias)).toBe(await helpOf(name));
      expect(await helpOf(alias)).toContain(`Usage: purchase-watch ${name} [options]`);
    },
  );

  test.each(['incidents', 'silences', 'subscribers', 'deliveries', 'sessions'])('%s ls lists', async (group) => {
    expect(await helpOf(group, 'ls')).toBe(await helpOf(group, 'list'));
    expect(await helpOf(group, 'ls')).toContain(`Usage: purchase-watch ${group} list [options]`);
  });

  test('the version can be asked for as a command', async () => {
    expect(await runCommand(['version'])).toEqual(await runCommand(['--version']));
  });

  test('none is shown in the help', async () => {
    const shown = [await helpOf(), ...(await Promise.all(COMMANDS.map(({ name }) => helpOf(name))))].join('\n');
    expect(shown).not.toMatch(/\w\|\w|^ {2}(?:ls|version|incident|delivery)\b/m);
  });

  test('each names one command', () => {
    const names = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });
});

test('the help lists every command once, in groups', async () => {
  const shown = await helpOf();
  const headings = [...shown.matchAll(/^(\S.*:)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(['Options:', ...COMMAND_GROUPS.map(({ heading }) => heading)]);
  for (const { heading, commands } of COMMAND_GROUPS) {
    const group = shown.slice(shown.indexOf(`\n${heading}\n`)).split('\n\n')[0]!;
    const listed = [...group.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name).filter((name) => name !== 'help');
    expect(listed).toEqual(commands.map(({ usage }) => usage.split(' ')[0]));
  }
});

describe('options of the program', () => {
  const variablesIn = (text: string): string => temporaryFile(text, '.env');

  test('--env takes variables from a file, before or behind the command; the environment wins', async () => {
    const file = variablesIn('PORT=9001\nHOST="127.0.0.2"\n');
    const shown = async (argv: readonly string[]) => {
      const { exitCode, stdout, stderr } = await runCommand(argv, { PORT: '9002' });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      const { PORT, HOST } = JSON.parse(stdout).settings;
      return [PORT.value, HOST.value];
    };
    expect(await shown(['--env', file, 'config', '--json'])).toEqual([9002, '127.0.0.2']);
    expect(await shown(['config', '--json', '--env', file])).toEqual([9002, '127.0.0.2']);
    expect(await shown(['config', `--env=${file}`, '--json'])).toEqual([9002, '127.0.0.2']);
  });

  test('a file of variables that cannot be read is named', async () => {
    expect(await runCommand(['--env', '/nowhere/.env', 'config'])).toEqual({
      ...{ exitCode: 2, stdout: '' },
      stderr: 'error: --env: there is no such file: /nowhere/.env\n',
    });
  });

  test('--quiet leaves out what stands beside the results, and logs warnings', async () => {
    const env = { CONSOLE_URL: 'https://ops.example/watch' };
    const result = { exitCode: 0, stdout: 'https://ops.example/watch/\n' };
    expect(await runCommand(['open', '--print'], { ...env })).toEqual({
      ...result,
      stderr: expect.stringContaining('CONSOLE_URL'),
    });
    expect(await runCommand(['-q', 'open', '--print'], { ...env })).toEqual({ ...result, stderr: '' });
    const level = async (flag: string) =>
      JSON.parse((await runCommand([flag, 'config', '--json'], { LOG_LEVEL: 'error' })).stdout).settings.LOG_LEVEL.value;
    expect([await level('--quiet'), await level('-v')]).toEqual(['warn', 'debug']);
  });

  test('an error is written with --quiet, too', async () => {
    expect((await runCommand(['config', '--quiet'], { PORT: 'x' })).stderr).toMatch(/^error: PORT: "x" is not/);
  });
});

test('without a command it says in a few lines what to type first', async () => {
  const { exitCode, stdout, stderr } = await runCommand([]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  const named = [...stderr.matchAll(/^ {2}purchase-watch (\w+)/gm)].map(([, name]) => name);
  expect(named.filter((name) => !COMMANDS.some((each) => each.name === name))).toEqual([]);
  expect(named).toContain('demo');
  expect(stderr.trimEnd().split('\n').length).toBeLessThan(15);
});
