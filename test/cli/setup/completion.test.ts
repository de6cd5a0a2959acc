/** The scripts in the shells that they are for. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMAND_GROUPS } from '../../../src/cli/commands.ts';
import { DELIVERY_STATUSES } from '../../../src/domain/deliveries/delivery-status.ts';
import { runCommand } from '../run.ts';

const has = (shell: string) => spawnSync(shell, ['--version']).error === undefined;
const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
afterAll(() => rmSync(folder, { recursive: true }));
const scriptOf = (shell: string) => join(folder, `completion.${shell}`);
beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { exitCode, stdout, stderr } = await runCommand(['completion', shell]);
    expect([exitCode, stderr]).toEqual([0, '']);
    writeFileSync(scriptOf(shell), stdout);
  }
});

/** What bash offers at the end of each line, found as bash finds it: by the function that `complete` names. */
async function inBash(...lines: readonly (readonly string[])[]): Promise<string[][]> {
  const ask = lines.map((words) => {
    const quoted = ['purchase-watch', ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; "$named" purchase-watch; echo "\${COMPREPLY[*]}"`;
  });
  const find = `source '${scriptOf('bash')}'; set -- $(complete -p purchase-watch); named=$3; cd '${folder}'`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', [find, ...ask].join('\n')]);
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

const NAMES = COMMAND_GROUPS.flatMap(({ commands }) => commands.map(({ usage }) => usage.split(' ')[0]!));

describe('bash', () => {
  test('offers what the help of each command names', async () => {
    const pages = await Promise.all(NAMES.map(async (name) => [name, (await runCommand([name, '--help'])).stdout] as const));
    const groups = pages.flatMap(([name, page]) => {
      const commands = page.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '';
      return [...commands.matchAll(/^ {2}([\w-]+)/gm)].map(([, sub]) => [name, sub!] as const);
    });
    const deeper = await Promise.all(
      groups.map(async (words) => [words, (await runCommand([...words, '--help'])).stdout] as const),
    );
    const all = [...pages.map(([name, page]) => [[name], page] as const), ...deeper.filter(([[, sub]]) => sub !== 'help')];
    expect(all.length).toBeGreaterThan(45);
    const offered = await inBash(...all.map(([words]) => [...words, '--']));
    for (const [at, [words, page]] of all.entries()) {
      const flags = [...page.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag!);
      expect(flags).toContain('--help');
      // A group takes the options of its list, too.
      expect(
        words.length === 1 ? flags.filter((flag) => !offered[at]!.includes(flag)) : offered[at]!.toSorted(),
        words.join(' '),
      ).toEqual(words.length === 1 ? [] : flags.toSorted());
    }
    const subs = await inBash(...NAMES.map((name) => [name, '']));
    for (const [at, name] of NAMES.entries()) {
      const wanted = groups.filter(([group]) => group === name).map(([, sub]) => sub);
      expect(
        subs[at]!.filter((word) => !word.startsWith('-') && !['completion', 'export'].includes(name)).toSorted(),
        name,
      ).toEqual(wanted.toSorted());
    }
  });

  test.each<[line: string, offered: string[]]>([
    ['', [...NAMES, 'help']],
    ['inc', ['incidents']],
    ['help del', ['deliveries']],
    ['incidents help ack', ['acknowledge']],
    ['incident ack', ['acknowledge']],
    ['--no-color incidents ack', ['acknowledge']],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['deliveries list --status ex', ['exhausted']],
    ['delivery ls --status ex', ['exhausted']],
    ['deliveries --status ex', ['exhausted']],
    ['deliveries list --status = ex', ['exhausted']],
    ['deliveries list --status =', [...DELIVERY_STATUSES]],
    ['subscribers change books --status o', ['off']],
    ['incidents --kind st', ['stuck']],
    ['deliveries --subscriber ', []],
    ['watch --file completion.f', ['completion.fish']],
    ['nope --', ['--version', '--color', '--no-color', '--env', '--quiet', '--verbose', '--help']],
    ['silences add --kind re', ['replica']],
    ['incidents answer inc_1 --cause dep', ['deploy']],
  ])('%s', async (line, offered) => {
    const [found] = await inBash(line.split(' '));
    expect(found!.toSorted()).toEqual(offered.toSorted());
  });
});

test.skipIf(!has('zsh'))('zsh reads the script', async () => {
  await promisify(execFile)('zsh', ['-n', scriptOf('zsh')]);
});

test.skipIf(!has('fish'))('fish offers the same, with what it means', async () => {
  const ask = async (line: string) => {
    const { stdout } = await promisify(execFile)('fish', [
      '--no-config',
      '-c',
      `source '${scriptOf('fish')}'; complete -C '${line}'`,
    ]);
    return stdout.trim().split('\n');
  };
  expect(await ask('purchase-watch inc')).toEqual(['incidents\tshow what is wrong, look after it, say what it was']);
  expect(await ask('purchase-watch incident ack')).toEqual([expect.stringMatching(/^acknowledge\tsay that/)]);
  expect(await ask('purchase-watch delivery ls --status ex')).toEqual([expect.stringMatching(/^exhausted\t/)]);
  expect(await ask('purchase-watch plan --js')).toEqual(['--json\twrite JSON']);
});

test('every shell is told how to install it, and no other one is known', async () => {
  const { stdout } = await runCommand(['completion', '--help']);
  for (const shell of ['bash', 'zsh', 'fish'])
    expect(stdout).toMatch(new RegExp(`^  ${shell} +purchase-watch completion ${shell} > `, 'm'));
  expect(await runCommand(['completion', 'tcsh'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
});
