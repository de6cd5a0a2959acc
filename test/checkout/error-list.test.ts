/** Errors as services of this kind list them: which codes are shown, and which lists say that there is no such purchase. */
import { expect, test } from 'vitest';
import { readErrorList } from '../../src/checkout/answer-text.ts';

const FORMS: readonly ((code: unknown, message: string) => unknown)[] = [
  (ErrorCode, ErrorMessage) => [{ ErrorCode, ErrorMessage }],
  (code, message) => ({ errors: [{ code, message }] }),
  (error, error_description) => ({ error, error_description }),
  (Code, Message) => ({ Error: { Code, Message, Details: null } }),
  (errorCode, detail) => ({ type: 'about:blank', title: 'Bad Request', status: 400, errorCode, detail }),
];

const NO_PURCHASE: readonly [code: unknown, message: string][] = [
  ['PURCHASE_NOT_FOUND', ''],
  ['PurchaseNotFound', ''],
  ['UnknownPurchaseId', ''],
  ['E-17', 'There is no purchase with this PurchaseId.'],
  [404_1, "Purchase '5f0c-77' does not exist"],
  ['E1', 'The purchase with id 8a61 was not found.'],
  ['E1', 'No such purchase'],
  ['checkout.purchase.not_found', ''],
];

const OTHER: readonly [code: unknown, message: string][] = [
  ['PURCHASE_LOCKED', 'The purchase is being updated. Try again.'],
  ['INVALID_STATE', 'Purchase state unknown to this version.'],
  ['CUSTOMER_NOT_FOUND', 'The customer of this purchase does not exist.'],
  ['NOT_FOUND', 'Resource not found.'],
  [4711, 'Internal error'],
  ['TIMEOUT', 'No purchase method is available'],
  ['BAD', 'Payment method unknown'],
];

test.each(FORMS)('in form %#', (form) => {
  for (const [code, message] of NO_PURCHASE)
    expect([code, message, readErrorList(form(code, message))?.saysNoPurchase]).toEqual([code, message, true]);
  for (const [code, message] of OTHER) {
    const read = readErrorList(form(code, message));
    expect([code, message, read?.saysNoPurchase]).toEqual([code, message, false]);
    expect(read?.codes).toEqual([String(code)]);
  }
});

test('what may hold data of people is no code', () => {
  const texts = [
    'Astrid Lindgren',
    '850101-1234',
    '+46 70 123 45 67',
    '0701234567',
    'a@b.se',
    'x'.repeat(49),
    '',
    'två',
    '2026-11-26',
  ];
  for (const text of texts) expect(readErrorList([{ ErrorCode: text, ErrorMessage: 'Astrid' }])?.codes).toEqual([]);
  expect(readErrorList([{ code: 'A' }, { code: 'A' }, { code: 'B' }, { code: 'C' }, { code: 'D' }])?.codes).toEqual([
    'A',
    'B',
    'C',
  ]);
});

test('what holds no error is none', () => {
  for (const value of [undefined, null, 7, 'PURCHASE_NOT_FOUND', [], {}, [[]], { data: { id: 4 } }])
    expect(readErrorList(value)).toBeNull();
});
