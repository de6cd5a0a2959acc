import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { audienceOfKind, CHANNEL_KINDS, peopleKind } from '../../src/channels/registry.ts';
import { PEOPLE_KIND_NAMES } from '../../src/config/kinds/people-kinds.ts';
import { eventFault } from '../support/event-contract.ts';

const SOURCE = join(import.meta.dirname, '../../src');

test('each kind is for people or for systems, and those of the settings are the ones that are for people', () => {
  const forPeople = CHANNEL_KINDS.filter((kind) => audienceOfKind(kind) === 'people');
  expect(forPeople).toEqual(PEOPLE_KIND_NAMES);
  expect(CHANNEL_KINDS.filter((kind) => audienceOfKind(kind) === 'systems')).toEqual(['webhook', 'nats', 'rabbitmq']);
});

test.each(['typical', 'longest'] as const)('each kind for people has %s messages, which say that they are a test', (size) => {
  for (const kind of PEOPLE_KIND_NAMES) {
    const examples = peopleKind(kind).examples(Date.UTC(2026, 10, 20), size);
    expect(examples.length).toBeGreaterThan(0);
    for (const { body } of examples) {
      expect(JSON.parse(body)).toMatchObject({ data: { test: true } });
      expect(eventFault(body)).toBeNull();
    }
  }
});

test('nothing but a channel, its settings and the registry asks which kind one is: all else asks for whom it is', () => {
  const isItsOwn = (path: string): boolean => /^(channels|config)\//.test(path);
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const asking = new RegExp(`kind\\b[^\\n]{0,6}[!=]=?=? *'(?:${PEOPLE_KIND_NAMES.join('|')})'`);
  expect(files.length).toBeGreaterThan(300);
  expect(files.filter((path) => !isItsOwn(path) && asking.test(readFileSync(join(SOURCE, path), 'utf8')))).toEqual([]);
});
