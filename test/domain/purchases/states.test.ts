import { describe, expect, test } from 'vitest';
import {
  checkoutEnd,
  isKnownState,
  knownState,
  namedState,
  numberOf,
  STATE_NAMES,
  stateBoth,
  stateName,
  statePlace,
  stateValue,
  stateWords,
} from '../../../src/domain/purchases/states.ts';

test('states have the numbers of the specification', () => {
  expect(STATE_NAMES).toHaveLength(15);
  expect([0, 2, 3, 4, 5, 6, 8, 11, 13, 14].map(stateName)).toEqual([
    'New',
    'Completed',
    'Error',
    'WaitingForIdentityProvider',
    'SessionTimedOut',
    'WaitingForCardPayments',
    'Cancelled',
    'CreditNotApproved',
    'PaymentHandledByMerchant',
    'ElectronicIdValidationRequired',
  ]);
});

test('a number nobody knows has a name all the same', () => {
  expect(namedState(17)).toEqual({ value: 17, name: 'Unknown(17)' });
  expect(namedState(-1)).toEqual({ value: -1, name: 'Unknown(-1)' });
});

test('known are 0 to 14 and nothing else', () => {
  expect([-1, 0, 14, 15, 1.5].map(isKnownState)).toEqual([false, true, true, false, false]);
});

test('a state is found by its name or its number', () => {
  STATE_NAMES.forEach((name, value) => {
    expect(stateValue(name)).toBe(value);
    expect(stateValue(String(value))).toBe(value);
  });
  // Every number that an answer may have and a row may hold, also as people are shown it.
  for (const value of [17, -1, 2_147_483_647, -2_147_483_648]) {
    expect(stateValue(String(value))).toBe(value);
    expect(stateValue(stateName(value))).toBe(value);
  }
  expect(stateValue('-0')).toBe(0);
});

test.each(['', 'completed', 'Completed ', '--1', '1.5', '1e3', '0x2', '2147483648', '-2147483649', 'Unknown()', 'Unknown(17) '])(
  '%j is no state',
  (text) => {
    expect(stateValue(text)).toBeNull();
  },
);

test('nothing is waited for exactly where the checkout has come to an end', () => {
  STATE_NAMES.forEach((name, value) => {
    const { end, advice } = knownState(value)!;
    expect([name, advice === null]).toEqual([name, end !== null]);
    expect(numberOf(name)).toBe(value);
  });
});

test('a checkout was paid, or refused, or came to nothing', () => {
  expect(['Completed', 'PaymentHandledByMerchant'].map(checkoutEnd)).toEqual(['paid', 'paid']);
  expect(['CreditNotApproved', 11].map(checkoutEnd)).toEqual(['refused', 'refused']);
  expect([3, 5, 8].map(checkoutEnd)).toEqual(['lost', 'lost', 'lost']);
  expect([6, 17, 'Unknown(17)', '?'].map(checkoutEnd)).toEqual([null, null, null, null]);
});

test('people are told of each state what it means, and where something is waited for, why and what to do', () => {
  const texts = STATE_NAMES.flatMap((_, value) => {
    const { meaning, advice } = knownState(value)!;
    return [meaning, ...(advice === null ? [] : [advice.cause, advice.remedy])];
  });
  expect(texts.filter((text) => !/^[A-Z].{20}/.test(text))).toEqual([]);
});

describe('words for people', () => {
  test('every state of the specification has its own', () => {
    const words = STATE_NAMES.map((_, value) => stateWords(value));
    expect(new Set(words).size).toBe(STATE_NAMES.length);
    expect(words.filter((each) => /[A-Z][a-z]+[A-Z]/.test(each))).toEqual([]);
  });

  test.each([
    [
      6,
      'waiting for the card provider',
      'waiting for the card provider (WaitingForCardPayments)',
      'waiting for the card provider',
    ],
    [4, 'waiting for identification', 'waiting for identification (WaitingForIdentityProvider)', 'waiting for identification'],
    [8, 'cancelled by the shop', 'cancelled by the shop (Cancelled)', 'in the state cancelled by the shop'],
    // The name would say the same once more.
    [2, 'completed', 'completed', 'in the state completed'],
    [
      42,
      'state 42, which is not in the specification',
      'state 42, which is not in the specification',
      'in state 42 (not in the specification)',
    ],
  ])('%i: alone, with the name, and after "stuck"', (value, words, both, place) => {
    expect([stateWords(value), stateBoth(value), statePlace(value)]).toEqual([words, both, place]);
    expect(stateBoth(stateName(value))).toBe(both);
  });

  test('a text that names no state is repeated', () => {
    expect(stateBoth('default')).toBe('default');
  });
});
