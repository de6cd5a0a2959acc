import { expect, test } from 'vitest';
import { createSlots, type Slot } from '../../src/notifier/slots.ts';

test('one alone has all there is', () => {
  const slots = createSlots(8, () => 1);
  const taken: (Slot | null)[] = [];
  for (let inFlight = 0; inFlight < 9; inFlight++) taken.push(slots.take(inFlight));
  expect(taken).toEqual([...Array(4).fill('own'), ...Array(4).fill('borrowed'), null]);
});

test('who takes all that can be borrowed leaves the others their own', () => {
  const slots = createSlots(8, () => 2);
  for (let inFlight = 0; inFlight < 6; inFlight++) expect(slots.take(inFlight)).not.toBeNull();
  expect(slots.take(6)).toBeNull();
  expect([slots.take(0), slots.take(1), slots.take(2)]).toEqual(['own', 'own', null]);
});

test('what is given back can be borrowed by another', () => {
  const slots = createSlots(2, () => 1);
  expect([slots.take(0), slots.take(1), slots.take(2)]).toEqual(['own', 'borrowed', null]);
  slots.give('borrowed');
  expect(slots.take(1)).toBe('borrowed');
});

test('everybody has at least one, however many they are', () => {
  const slots = createSlots(4, () => 100);
  for (let party = 0; party < 100; party++) expect(slots.take(0)).toBe('own');
});
