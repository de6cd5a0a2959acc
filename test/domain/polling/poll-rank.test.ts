import { expect, test } from 'vitest';
import { type PollRank, pollRank, ranksInTurn } from '../../../src/domain/polling/poll-rank.ts';
import { numberOf } from '../../../src/domain/purchases/states.ts';

const NEW = numberOf('New');
const AT_THE_BANK = numberOf('WaitingForCardPayments');

test.each([
  ['the first poll of a purchase that was registered by itself', { reason: 'first', state: null, isBulk: false }, 0],
  ['one that is watched again', { reason: 'renewed', state: NEW, isBulk: false }, 0],
  ['one that a person asked for, whatever it is', { reason: 'requested', state: null, isBulk: true }, 0],
  ['one whose customer is at the bank', { reason: 'growth', state: AT_THE_BANK, isBulk: false }, 1],
  ['one of a bulk registration whose customer is at the bank', { reason: 'growth', state: AT_THE_BANK, isBulk: true }, 1],
  ['one in the form', { reason: 'stuck_moment', state: numberOf('BeingProcessed'), isBulk: false }, 1],
  ['one that has not begun', { reason: 'growth', state: NEW, isBulk: false }, 2],
  ['one for which people decide', { reason: 'growth', state: numberOf('WaitingCreditApproval'), isBulk: false }, 2],
  ['the recheck of one that is over', { reason: 'recheck', state: numberOf('Completed'), isBulk: false }, 2],
  ['one in a state that is not listed', { reason: 'growth', state: 99, isBulk: false }, 2],
  ['one that failed, and was planned by an earlier version', { reason: null, state: null, isBulk: false }, 2],
  ['the first poll of a bulk registration', { reason: 'first', state: null, isBulk: true }, 3],
  ['one of a bulk registration that is watched again', { reason: 'renewed', state: NEW, isBulk: true }, 3],
  ['a later one of it', { reason: 'growth', state: NEW, isBulk: true }, 3],
] as const)('%s has its rank', (_, poll, rank) => {
  expect(pollRank(poll)).toBe(rank);
});

test('while all ranks have more than the site takes, each has its part, and the first has most', () => {
  const calls = [0, 0, 0, 0];
  for (let turn = 0; turn < 1_600; turn++) calls[ranksInTurn(turn)[0]!]! += 1;
  expect(calls).toEqual([1_200, 100, 100, 200]);
});

test('whatever turn it is, a rank that alone has something gets the call', () => {
  for (let turn = 0; turn < 32; turn++) expect([...ranksInTurn(turn)].sort()).toEqual([0, 1, 2, 3] satisfies PollRank[]);
});
