import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { without } from './guard.ts';
import { GUARDS } from './guards.ts';

const sourceOf = (file: string): string => readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');

test('there are at least forty guards, each with a name of its own', () => {
  expect(GUARDS.length).toBeGreaterThanOrEqual(40);
  expect(new Set(GUARDS.map(({ name }) => name)).size).toBe(GUARDS.length);
});

test.each(GUARDS)('$name: its text is in its file once, and the file can be read without it', (guard) => {
  const source = sourceOf(guard.file);
  const changed = without(guard, source);
  expect(changed).not.toBe(source);
  if (guard.file.endsWith('.ts')) stripTypeScriptTypes(changed);
});
