/** Headers and secrets as the command line takes them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('default');
});
afterAll(() => database.drop());

const command = (...argv: string[]) =>
  runCommand(['subscribers', ...argv], { DATABASE_URL: database.url, SECRETS_KEY: 'an encryption key of many characters' });

test('names that objects have by birth are names of headers as well', async () => {
  const options = ['__proto__: a', 'constructor: b', 'toString: c'].flatMap((header) => ['--header', header]);
  const added = await command('add', 'born', 'https://a.example', ...options);
  expect([added.exitCode, added.stderr]).toEqual([0, '']);
  expect(added.stdout).toMatch(/^headers +__proto__, constructor, toString \(/m);
  const twice = await command('add', 'again', 'https://a.example', '--header', '__proto__: a', '--header', '__proto__: b');
  expect([twice.exitCode, twice.stderr]).toEqual([2, expect.stringContaining('--header __proto__: is given twice')]);
});

test('what stands where a name belongs and is none may be a value, and is not repeated', async () => {
  const once = ['--header', 'Bearer geheim: x'];
  for (const options of [once, [...once, ...once]]) {
    const { exitCode, stderr } = await command('add', 'value', 'https://a.example', ...options);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/--header: holds something \(not shown\) that is not a header name/),
    ]);
    expect(stderr).not.toContain('geheim');
  }
});

test('an overlap of more than 30 days is refused, as the API does', async () => {
  await command('add', 'long', 'https://a.example');
  const { exitCode, stderr, stdout } = await command('rotate-secret', 'long', '--overlap', '3650d');
  expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining('give an overlap of 30d at most')]);
  expect((await command('rotate-secret', 'long', '--overlap', '30d')).exitCode).toBe(0);
});

test('until when old secrets sign is shown as long as they do', async () => {
  await command('add', 'rotating', 'https://a.example');
  await command('rotate-secret', 'rotating');
  expect((await command('show', 'rotating')).stdout).toMatch(/^old secrets +sign until 20/m);
  await database.sql`update purchase_watch_internal.subscribers set old_keys_until = now() - interval '1 second' where name = 'rotating'`;
  expect((await command('show', 'rotating')).stdout).not.toContain('old secrets');
});
