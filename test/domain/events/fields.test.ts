import { expect, test } from 'vitest';
import { z } from 'zod';
import { amount, amountText, jsonObject, listOf, orNull, readableState, time, word } from '../../../src/domain/events/fields.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';

const reads = (schema: z.ZodType, value: unknown): unknown => {
  const { success, data } = schema.safeParse(value);
  return success ? data : 'refused';
};

test.each<[string, z.ZodType, unknown, unknown]>([
  ['a time', time, '2026-11-20T09:15:00.000Z', Date.UTC(2026, 10, 20, 9, 15)],
  ['no time', time, 'soon', 'refused'],
  ['a word', word, 'x', 'x'],
  ['an empty word', word, '', 'refused'],
  ['a state', readableState, { value: 6, name: 'Card' }, { value: 6, name: 'Card' }],
  ['a state without a name', readableState, { value: 6 }, { value: 6, name: 'WaitingForCardPayments' }],
  ['an object', jsonObject, { a: 1 }, { a: 1 }],
  ['a list for an object', jsonObject, [], 'refused'],
  ['null for an object', jsonObject, null, 'refused'],
  ['a text for an object', jsonObject, 'x', 'refused'],
  ['a number of few digits for an object', jsonObject, 7, 'refused'],
  ['a number for an object', jsonObject, decimal('1.50'), 'refused'],
  ['an amount', amount, decimal('1.50'), decimal('1.50')],
  ['a text for an amount', amount, '1.50', 'refused'],
  ['an amount as text', amountText, '1.50', '1.50'],
  ['an amount of an older version', amountText, decimal('1.50'), '1.50'],
  ['a whole amount of an older version', amountText, 7, '7'],
])('%s', (_, schema, value, expected) => expect(reads(schema, value)).toEqual(expected));

test('what cannot be read is null, and an entry that cannot be read is left out of its list', () => {
  expect([undefined, null, 5, 'x'].map((value) => reads(orNull(word), value))).toEqual([null, null, null, 'x']);
  expect([['a', '', 5, 'b'], 'none', undefined].map((value) => reads(listOf(word), value))).toEqual([['a', 'b'], [], []]);
  expect(reads(listOf(z.object({ name: word })), [{ name: 'a' }, {}])).toEqual([{ name: 'a' }]);
});
