/** How a command is found: by name, by other names, in the help, and when the name is mistyped. */
import { describe, expect, test } from 'vitest';
import { COMMAND_GROUPS } from '../../src/cli/commands.ts';
import { runCommand } from './run.ts';

const COMMANDS = COMMAND_GROUPS.flatMap(({ commands }) => commands.map((each) => ({ ...each, name: each.usage.split(' ')[0]! })));
const helpOf = async (...words: string[]) => (await runCommand([...words, '--help'])).stdout;

describe('a word that names no command', () => {
  test.each<[string, RegExp]>([
    ['plna', /^error: unknown command 'plna'\n\(Did you mean plan\?\)\n/],
    ['plna --help', /^error: unknown command 'plna'\n\(Did you mean plan\?\)\n/],
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
