import { expect, test } from 'vitest';
import { createSlots } from '../../../../src/daemon/notifier/sending/slots.ts';

const [shop, books, news] = [{}, {}, {}];
/** How many of so many it gets. */
const taken = (slots: ReturnType<typeof createSlots>, party: object, many: number): number =>
  Array.from({ length: many }, () => slots.take(party)).filter(Boolean).length;

test('one alone has all there is', () => {
  expect(
    taken(
      createSlots(8, () => 1),
      shop,
      20,
    ),
  ).toBe(8);
});

test('who takes all that can be borrowed leaves the others their own', () => {
  const slots = createSlots(8, () => 2);
  expect(taken(slots, shop, 20)).toBe(6);
  expect(taken(slots, books, 20)).toBe(2);
});

test('what is given back can be borrowed by another, and it is said that it can', () => {
  const slots = createSlots(8, () => 2);
  taken(slots, shop, 20);
  taken(slots, books, 20);
  expect([slots.give(shop), slots.take(books), slots.take(shop)]).toEqual([true, true, false]);
  for (let left = 5; left > 2; left--) expect(slots.give(shop)).toBe(true);
  expect(slots.give(shop)).toBe(false);
});

test('what is taken and given back many times stays what it was: its own first, then borrowed', () => {
  const slots = createSlots(512, () => 5);
  const parties = Array.from({ length: 4 }, () => ({}));
  for (const party of parties) expect(taken(slots, party, 64)).toBe(64);
  for (let turn = 0; turn < 20_000; turn++) {
    const party = parties[turn % 4]!;
    slots.give(party);
    expect(slots.take(party)).toBe(true);
  }
  expect(taken(slots, news, 600)).toBe(51 + 256 - 4 * 13);
});

test('a slot of its own that is given back is its own again', () => {
  const slots = createSlots(2, () => 1);
  for (let turn = 0; turn < 5; turn++) expect([slots.take(shop), slots.give(shop)]).toEqual([true, false]);
});

test('the share of each follows their number', () => {
  let parties = 1;
  const slots = createSlots(8, () => parties);
  expect(taken(slots, shop, 20)).toBe(8);
  parties = 4;
  // Its own is 1 now, and the other 7 are borrowed: more than there are to borrow, until some are given back.
  expect(taken(slots, books, 20)).toBe(1);
  for (let left = 8; left > 4; left--) slots.give(shop);
  expect(taken(slots, books, 20)).toBe(1);
});

test('everybody has at least one, however many they are', () => {
  const slots = createSlots(4, () => 100);
  for (let party = 0; party < 100; party++) expect(slots.take({})).toBe(true);
});
