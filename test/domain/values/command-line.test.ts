/** Commands that the product shows are pasted into shells, with ids that strangers chose. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { code, plainText } from '../../../src/channels/people/messages/mrkdwn.ts';
import { commandLine, shellWord } from '../../../src/domain/values/command-line.ts';

const HOSTILE = [
  ...['$(touch ran)', '`touch ran`', "'", '"', "a';touch ran;'b", 'a;touch ran', 'a&touch ran', 'a|touch ran', '!!', "it's!$"],
  ...[
    '~',
    '~root',
    '*',
    '?',
    '[a]',
    '{a,b}',
    '#x',
    '=x',
    'a=b',
    '%self',
    '^a^b',
    '\\',
    '\\n',
    "\\'",
    'a\\',
    '$HOME',
    '\u0024{HOME}',
    '<ran',
    '>ran',
  ],
  ...['-', '--', '-x', '--site', '--site=se', "-'x", '-$(touch ran)', '-\u202ex', '', ' a  b ', '%', '%s\\n', '\\140'],
  ...[
    'a\nb',
    'a\rtouch ran\r',
    'a\tb',
    '\u0003',
    '\u001b[201~touch ran',
    '\u202efdp',
    'a\u200bb',
    '\ufe0f',
    '\u3164',
    'äöü漢🦊',
    'עברית',
  ],
  ...[
    'http://x.example',
    'www.x.example',
    'kim@x.example',
    '{{DATE(2026-11-20)}}',
    '<at>Kim</at>',
    '&lt;',
    'x'.repeat(200),
    '.',
    '..',
    'a/b',
    'ord_1-2.3:4',
  ],
];

/** What a shell gives to the programs of these lines, one array of arguments each. */
async function argumentsIn(shell: readonly string[], lines: readonly string[], before = ''): Promise<string[][]> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  writeFileSync(
    join(folder, 'purchase-watch'),
    `#!/bin/sh\nfor word do printf '%s\\0' "$word"; done >> args\nprintf 'END\\0' >> args\n`,
    { mode: 0o755 },
  );
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder, LANG: 'C.UTF-8', TERM: 'dumb' };
  writeFileSync(join(folder, 'pasted'), `${before}${lines.join('\n')}\n`);
  await promisify(execFile)('sh', ['-c', '"$@" < pasted || true', 'sh', ...shell], { cwd: folder, env });
  expect(
    readdirSync(folder).filter((file) => file === 'ran'),
    'a value was run',
  ).toEqual([]);
  const text = readFileSync(join(folder, 'args'), 'utf8');
  const commands = text.split('END\0').slice(0, -1);
  return commands.map((words) => words.split('\0').slice(0, -1));
}

const SHELLS: [name: string, shell: string[], before?: string][] = [
  ['sh', ['sh']],
  ['bash', ['bash']],
  ['bash with its history', ['bash', '--norc', '-o', 'history', '-H']],
  ['zsh', ['zsh', '-f']],
  ['zsh as a person uses it', ['zsh', '-f', '-i'], 'unsetopt zle; setopt banghist extendedglob rcquotes magicequalsubst\n'],
  ['fish', ['fish', '--no-config']],
];

test.each(SHELLS)('%s gives every value of a pasted command to the program as it is', async (_, shell, before) => {
  const random = fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), { numRuns: 60, seed: 31 });
  const values = [...HOSTILE, ...random].map((value) => value.replaceAll('\0', '').replace(/\n+$/, '').toWellFormed());
  const lines = values.map((value) => commandLine`why ${value} --site ${value}`);
  for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029`]/u);
  const expected = values.map((value) =>
    value.startsWith('-') ? ['why', `--site=${value}`, '--', value] : ['why', value, '--site', value],
  );
  expect(await argumentsIn(shell, lines, before)).toEqual(expected);
});

test.each([
  ['ord_1-2.3:4', 'purchase-watch why ord_1-2.3:4 --site se'],
  ['@slack', 'purchase-watch why @slack --site se'],
  ["it's", "purchase-watch why 'it'\\''s' --site se"],
  ['', "purchase-watch why '' --site se"],
  ['-x', 'purchase-watch why --site se -- -x'],
  ['a`b', `purchase-watch why "$(printf 'a\\140b')" --site se`],
])('%j is quoted only where it has to be', (id, command) => {
  expect(commandLine`why ${id} --site ${'se'}`).toBe(command);
});

test('a value of an option that begins with a dash is no option, and a path for this machine is spelled only where it has to be', () => {
  expect(commandLine`deliveries --subscriber ${'-x'} --status ${'parked'}`).toBe(
    'purchase-watch deliveries --subscriber=-x --status parked',
  );
  expect(shellWord('http://localhost:8080')).toBe('http://localhost:8080');
});

test('Slack and Teams show each command as it was made', () => {
  for (const value of HOSTILE) {
    const command = commandLine`why ${value}`;
    expect(plainText(code(command, Number.POSITIVE_INFINITY))).toBe(command);
  }
});

/** What is no command: names of database sessions, help and completion with words of the program alone. */
const NO_COMMANDS = [
  'cli/listen/subscription.ts: purchase-watch listen on ${',
  'cli/setup/scripts.ts: purchase-watch -n ${',
  'cli/terminal/command.ts: purchase-watch ${',
  'postgres/connection/database.ts: purchase-watch ${',
  'postgres/connection/database.ts: purchase-watch ${',
  'runtime/secrets/secrets.ts: purchase-watch ${',
];

test('every command with a value in it is written by commandLine', () => {
  const src = join(import.meta.dirname, '../../../src');
  const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(join(src, file), 'utf8').matchAll(/purchase-watch (?:[\w-]+ |\$\{[^}]*\} )*(?:\$\{|['"`] \+)/g)].map(
        ([text]) => `${file}: ${text}`,
      ),
    );
  expect(found.sort()).toEqual(NO_COMMANDS);
});
