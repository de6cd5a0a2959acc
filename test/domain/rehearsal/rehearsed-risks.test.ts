import { expect, test } from 'vitest';
import { DEFAULT_POLL_POLICY, type PollPolicy } from '../../../src/domain/polling/poll-plan.ts';
import { numberOf } from '../../../src/domain/purchases/states.ts';
import { asksForRisk, createRiskRehearsal, riskText } from '../../../src/domain/rehearsal/rehearsed-risks.ts';
import type { RecordedStay, RehearsedStay } from '../../../src/domain/stays/recorded-stay.ts';

const MINUTE = 60_000;
const T = 1_000 * MINUTE;
const POLICY: PollPolicy = { ...DEFAULT_POLL_POLICY, atRisk: { before: 5 * MINUTE, minimumAmount: { SEK: 500 } } };

/** A card payment that was stuck after a quarter of an hour and left a minute before the session ended. */
function stay(differs: Partial<RecordedStay> = {}, stuckAt: number | null = T + 15 * MINUTE): RehearsedStay {
  const recorded: RecordedStay = {
    ...{ site: 'se', state: numberOf('WaitingForCardPayments'), customer: '1', enteredAt: T, paidAt: null, unwatchedAt: null },
    ...{ seenAt: T + 28 * MINUTE, leftAt: T + 30 * MINUTE, toState: numberOf('SessionTimedOut'), firstSight: false },
    ...{ registeredAt: T, amount: 500, currency: 'SEK', end: 'lost', ...differs },
  };
  return { recorded, stuckAt, limit: 15 * MINUTE, shortest: 28 * MINUTE, longest: 30 * MINUTE };
}

function counts(stays: readonly RehearsedStay[], policy = POLICY, [from, to] = [T, T + 60 * MINUTE]) {
  const rehearsal = createRiskRehearsal({ from, to, policy });
  for (const each of stays) rehearsal.take(each);
  return rehearsal.counts();
}

test('stays that would have been announced are counted with their ends', () => {
  const stays = [stay(), stay({ end: 'paid' }), stay({ end: null })];
  expect(counts(stays)).toEqual({ announced: 3, lost: 1, paid: 1 });
});

test.each<[string, RehearsedStay]>([
  ['never stuck', stay({}, null)],
  ['too small', stay({ amount: 499 })],
  ['in another currency', stay({ currency: 'EUR' })],
  ['gone before the moment', stay({ seenAt: T + 23 * MINUTE, leftAt: T + 25 * MINUTE })],
  ['not seen at the moment, and not left', stay({ seenAt: T + 24 * MINUTE, leftAt: null, toState: null })],
  ['stuck only when the session has ended', stay({}, T + 30 * MINUTE)],
  ['short, so that its registration was not read', stay({ registeredAt: null })],
])('%s: not announced', (_, each) => {
  expect(counts([each])).toEqual({ announced: 0, lost: 0, paid: 0 });
});

test('only moments of the time count', () => {
  expect(counts([stay()], POLICY, [T + 25 * MINUTE, T + 26 * MINUTE])).toMatchObject({ announced: 1 });
  expect(counts([stay()], POLICY, [T + 26 * MINUTE, T + 60 * MINUTE])).toMatchObject({ announced: 0 });
  expect(counts([stay()], POLICY, [T, T + 25 * MINUTE])).toMatchObject({ announced: 0 });
});

test('a site may have a rule of its own, and without any there are no counts', () => {
  const bySite = new Map([['se', POLICY]]);
  const one: PollPolicy = { ...DEFAULT_POLL_POLICY, bySite };
  expect([asksForRisk(one), asksForRisk(DEFAULT_POLL_POLICY)]).toEqual([true, false]);
  expect(counts([stay(), stay({ site: 'no' })], one)).toEqual({ announced: 1, lost: 1, paid: 0 });
  expect(counts([stay()], DEFAULT_POLL_POLICY)).toBeNull();
});

test('in words', () => {
  expect(riskText({ announced: 0, lost: 0, paid: 0 })).toBe('purchase.at_risk for 0 purchases');
  expect(riskText({ announced: 3, lost: 2, paid: 1 })).toBe('purchase.at_risk for 3 purchases: 2 of them ended not paid, 1 paid');
  expect(riskText({ announced: 3, lost: 1, paid: 1 })).toBe(
    'purchase.at_risk for 3 purchases: 1 of them ended not paid, 1 paid, of 1 it is not known, or another purchase of the order was paid',
  );
});
