import { expect, test } from 'vitest';
import { hashOfKey } from '../../../src/config/api-keys.ts';
import { runCommand } from '../run.ts';

const NEW = ['key', 'new', '--name', 'shop', '--scope', 'register'];

test('makes another key each time, with its hash, for programs too', async () => {
  const made = await Promise.all([1, 2].map(() => runCommand([...NEW, '--scope', 'read', '--expires', '2099-12-31', '--json'])));
  const [first, second] = made.map(({ stdout }) => JSON.parse(stdout));
  expect(first).toEqual({
    name: 'shop',
    key: expect.stringMatching(/^pwk_[\w-]{43}$/),
    scopes: ['register', 'read'],
    hash: hashOfKey(first.key),
    expires: '2099-12-31T00:00:00.000Z',
  });
  expect(second.key).not.toBe(first.key);
});

test.each<[string, string[], RegExp]>([
  [
    'a scope that there is not',
    [...NEW, '--scope', 'write'],
    /--scope <scope>' argument 'write' is invalid\. Expected one of read, metrics/,
  ],
  [
    'a name that the file refuses',
    ['key', 'new', '--name', 'My shop', '--scope', 'read'],
    /--name: "My shop" is not a name of up to 63/,
  ],
  ['no name', ['key', 'new', '--scope', 'read'], /required option '--name <name>'/],
  ['no scope', ['key', 'new', '--name', 'shop'], /required option '--scope <scope>'/],
  ['an end in the past', [...NEW, '--expires', '2020-01-01'], /--expires: 2020-01-01 is over already/],
  ['no moment', [...NEW, '--expires', 'soon'], /--expires: "soon" is neither a duration such as 90d nor a day such as/],
])('%s is refused with what to do', async (_name, argv, problem) => {
  const { exitCode, stdout, stderr } = await runCommand(argv);
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(problem);
});
