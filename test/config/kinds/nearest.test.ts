import { expect, test } from 'vitest';
import { distance, leavesOut, nearest, suggestion } from '../../../src/config/kinds/nearest.ts';
import { VARIABLE_NAMES } from '../../../src/config/schema/variables.ts';
import { STATE_NAMES } from '../../../src/domain/purchases/states.ts';

test('a swap of neighbours is one step', () => {
  expect(distance('stuck', 'stcuk')).toBe(1);
  expect(distance('', 'abc')).toBe(3);
});

test.each([
  ['timout', 'timeout'],
  ['TIMEOUT', 'timeout'],
  ['concur', 'concurrency'],
])('%s means %s', (given, meant) => {
  expect(nearest(given, ['baseUrl', 'timeout', 'concurrency'])).toBe(meant);
});

test.each([
  ['WaitingForCard', 'WaitingForCardPayments'],
  ['waitingformobile', 'WaitingForMobilePayment'],
  ['WaitingForEidAp', 'WaitingForEidApp'],
  ['Complete', 'Completed'],
  ['Canceled', 'Cancelled'],
])('the state %s means %s', (given, meant) => {
  expect(nearest(given, STATE_NAMES)).toBe(meant);
});

test.each([
  ['CHECKOUT_SECRET', 'CHECKOUT_CLIENT_SECRET'],
  ['CHECKOUT_ID', 'CHECKOUT_CLIENT_ID'],
  ['CHECKOUT_URL', 'CHECKOUT_BASE_URL'],
  ['checkout_secrte', 'CHECKOUT_CLIENT_SECRET'],
  ['SLACK_URL', 'SLACK_WEBHOOK_URL'],
  ['SLACK_WEBHOOK_URI', 'SLACK_WEBHOOK_URL'],
])('the variable %s means %s', (given, meant) => {
  expect(nearest(given, VARIABLE_NAMES)).toBe(meant);
});

test('a name leaves out words of another only in their order, and one word is too little', () => {
  expect(leavesOut('client_secret', 'CHECKOUT_CLIENT_SECRET')).toBe(true);
  expect(leavesOut('clientSecret', 'checkoutClientSecret')).toBe(true);
  expect(leavesOut('SECRET_CLIENT', 'CHECKOUT_CLIENT_SECRET')).toBe(false);
  expect(leavesOut('CLIENT', 'CHECKOUT_CLIENT_SECRET')).toBe(false);
});

test('a name cut short is meant rather than one that is a letter away', () => {
  expect(nearest('stat', ['start', 'status'])).toBe('status');
  expect(nearest('strat', ['start', 'status'])).toBe('start');
});

test('nothing is suggested for something else altogether', () => {
  expect(nearest('colour', ['baseUrl', 'timeout'])).toBeNull();
  expect(suggestion('colour', ['baseUrl'])).toBe('');
});

test('a word that is too long for a slip is compared with nothing, which would take minutes for a long one', () => {
  expect(nearest(`${'x'.repeat(300)}y`, ['x'.repeat(300)])).toBeNull();
  expect(nearest('x'.repeat(10_000_000), VARIABLE_NAMES)).toBeNull();
});
