import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { without } from './guard.ts';
import { GUARDS } from './guards.ts';
import { readNoticed, table } from './noticed.ts';
import { PLANS } from './plans.ts';

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

test('each guard has what noticed it, which exists, and the page about proofs shows that', () => {
  const noticed = readNoticed();
  expect(Object.keys(noticed)).toEqual(GUARDS.map(({ name }) => name));
  for (const { way } of Object.values(noticed)) {
    if ('plan' in way) expect(Object.keys(PLANS)).toContain(way.plan);
    else if ('test' in way) expect(existsSync(join(import.meta.dirname, '../../..', way.test))).toBe(true);
  }
  expect(sourceOf('docs/proof.md')).toContain(table());
});
