import { expect, test } from 'vitest';
import { AppError, clause, inBrackets, unreadFile } from '../../../src/domain/values/errors.ts';

test.each([
  ['ENOENT', 'there is no such file: /a/b.csv'],
  ['NOT_A_FILE', '/a/b.csv is a folder, a pipe or a device: name a file, which can be read again'],
  ['TOO_LARGE', '/a/b.csv has more than 4 MiB: name the right file'],
  ['EACCES', '/a/b.csv cannot be read (EACCES): let the user of this process read it, and enter its folders'],
  ['EIO', '/a/b.csv cannot be read (EIO)'],
])('a file that gives %s', (code, text) => {
  expect(unreadFile('/a/b.csv', Object.assign(new Error('secret'), { code }))).toBe(text);
});

test('a file with an error that has no code', () => {
  expect(unreadFile('/a', new Error('secret'))).toBe('/a cannot be read (unknown)');
});

test('a reason goes behind what it is the reason of, without its full stop', () => {
  expect([null, 'No route.', 'No route'].map(inBrackets)).toEqual(['', ' (No route)', ' (No route)']);
  expect(clause('a.b.')).toBe('a.b');
});

test('an error for people has its code and its cause', () => {
  const cause = new Error('below');
  const { name, code, message, cause: kept } = new AppError('conflict', 'It runs.', { cause });
  expect({ name, code, message, kept }).toEqual({ name: 'AppError', code: 'conflict', message: 'It runs.', kept: cause });
});
