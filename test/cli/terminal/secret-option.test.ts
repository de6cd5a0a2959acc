/** Options that carry secrets: from standard input or a file, and remarked where they stand in the command. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProgram } from '../../../src/cli/program.ts';
import { SecretOption } from '../../../src/cli/terminal/secret-option.ts';
import { SIGNING_SECRET } from '../../config/files.ts';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return `@${join(folder, name)}`;
};
let database: TestDatabase;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  database = await databaseOf('default');
  env = { DATABASE_URL: database.url, SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') };
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});
const OPEN = /can read a secret that stands in a command, and the shell keeps it; give - \(standard input\) or @file instead\.\n/;
const add = (name: string, options: string[], stdin = '') =>
  runCommand(['subscribers', 'add', name, ...options, '--json'], env, { stdin });

test('a secret, headers and an address are read from files and standard input', async () => {
  const headers = file('headers', 'Authorization: Bearer hush\n\n  X-Team: checkout\n');
  const options = [file('address', 'https://shop.example/hooks?token=hush\n'), '--header', headers, '--header', 'X-Own: a'];
  const added = await add('files', [...options, '--secret', '-'], `${SIGNING_SECRET}\n`);
  expect([added.exitCode, added.stderr]).toEqual([0, '']);
  expect(JSON.parse(added.stdout)).toMatchObject({
    secret: SIGNING_SECRET,
    headers: ['Authorization', 'X-Team', 'X-Own'],
    url: 'https://shop.example/…',
  });
  const change = ['subscribers', 'change', 'files', '--json', '--no-header'];
  const changed = await runCommand([...change, '--url', '-'], env, { stdin: 'https://b.example\n' });
  expect(JSON.parse(changed.stdout)).toMatchObject({ url: 'https://b.example', headers: [] });
});

test('secrets that stand in the command are taken, and remarked once', async () => {
  const options = ['--secret', SIGNING_SECRET, '--header', 'Authorization: Bearer hush', '--header', 'X-Team: checkout'];
  const { exitCode, stderr } = await add('open', ['https://shop.example', ...options]);
  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(OPEN)]);
  expect(stderr).toMatch(/^--header and --secret: [^\n]*\n$/);
  expect(stderr).not.toContain('hush');
  expect(await add('plain', ['https://shop.example', '--header', 'X-Team: checkout'])).toMatchObject({ stderr: '' });
  expect(await runCommand(['subscribers', 'add', 'quiet', 'https://a.example', ...options, '--quiet'], env)).toMatchObject({
    exitCode: 0,
    stderr: '',
  });
});

test.each<[string, string[], string, RegExp]>([
  [
    'a file that is missing',
    ['https://a.example', '--secret', '@/nowhere/secret'],
    '',
    /--secret: there is no such file: \/nowhere\/secret/,
  ],
  ['an empty input', ['https://a.example', '--secret', '-'], ' \n', /--secret: standard input is empty/],
  [
    'an input that two read',
    ['-', '--secret', '-'],
    SIGNING_SECRET,
    /the address: standard input is empty, or another option has read it/,
  ],
  [
    'an endless input',
    ['https://a.example', '--secret', '-'],
    'hush'.repeat(20_000),
    /--secret: standard input has more than 65536 characters/,
  ],
  ['what is no secret', ['https://a.example', '--secret', '-'], 'hush', /--secret: must be whsec_ followed by base64/],
])('%s is refused without a word of it', async (_, options, stdin, message) => {
  const { exitCode, stdout, stderr } = await add('refused', options, stdin);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).not.toContain('hush');
});

test('the other commands read theirs in the same way', async () => {
  const listening = await runCommand(['listen', '--secret', file('short', 'whsec_short'), '--port', '0'], {});
  expect(listening).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/^error: --secret: must be whsec_/) });
  const slack = await runCommand(['init', '--folder', join(folder, 'new'), '--slack-url', file('slack', 'nowhere')], {});
  expect(slack).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(/--slack-url: its value \(not shown\) is not/) });
  const open = await runCommand(['init', '--folder', join(folder, 'new'), '--database-url', 'postgres://a:hush@b/c'], {});
  expect(open.stderr).toMatch(new RegExp(`^--database-url: .*${OPEN.source}`));
});

test('every option that may carry a secret reads it from elsewhere', async () => {
  const context = { env: {}, stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), isTTY: false };
  const program = await createProgram(['completion'], context);
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  const options = all(program).flatMap((command) => command.options.map((option) => ({ option, command: command.name() })));
  const suspects = options.filter(({ option }) => /secret|token|password|credential|header|webhook|url/.test(option.flags));
  const others = suspects.filter(({ option }) => !(option instanceof SecretOption) && !option.negate);
  // Addresses of this machine, of a service, and of a file.
  expect(others.map(({ option, command }) => `${command} ${option.flags}`).sort()).toEqual([
    'init --base-url <value>',
    'init --client-secret-file <file>',
    'listen --forward <url>',
    'listen --url <url>',
    'mcp --url <url>',
    'simulate --register <url>',
  ]);
  expect(suspects.length - others.length).toBeGreaterThan(7);
});
