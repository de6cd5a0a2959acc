import { describe, expect, test } from 'vitest';
import type { Facts, PurchaseFacts } from '../../../src/domain/explain/facts.ts';
import { whyThen } from '../../../src/domain/explain/poll.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy } from '../../../src/domain/polling/poll-plan.ts';
import type { PollReason } from '../../../src/domain/polling/poll-reason.ts';
import { aStatePolicy } from '../../support/a-purchase.ts';
import {
  aPurchase,
  COMPLETED,
  DAY,
  explained,
  HOUR,
  MINUTE,
  NOW,
  RENAMED,
  SECOND,
  SILENCE,
  TURNS,
  texts,
  type theFacts,
} from './facts.ts';

describe('the next poll is explained by the reason that was recorded with it:', () => {
  const settled = { status: 'settled', state: COMPLETED, stateSince: NOW - 2 * HOUR, lastPolledAt: NOW, seenAt: NOW } as const;
  const recheck = { states: new Map([[COMPLETED, aStatePolicy({ final: true, recheck: [HOUR, DAY] })]]) };
  const fixed = { fallback: aStatePolicy({ poll: { first: 10_000, growth: 0, most: HOUR } }) };
  const fraction = { fallback: aStatePolicy({ poll: { first: 500, growth: 0.025, most: HOUR } }) };
  test.each<[PollReason | null, Partial<PurchaseFacts>, string, Partial<PollPolicy>?]>([
    ['first', { lastPolledAt: null, seenAt: null }, 'the first one: a purchase is asked for as soon as it is registered'],
    ['renewed', {}, 'at once, because it was registered again'],
    [
      'growth',
      {},
      '6 s after the last poll, when it had been waiting for the card provider for 59 s; the wait there is 10 % of that time, from 5 s to 5 min, give or take 10 %',
    ],
    [
      'growth',
      { state: 42 },
      '6 s after the last poll, when it had been in state 42 (not in the specification) for 59 s; the wait there is 10 s, give or take 10 %',
      fixed,
    ],
    [
      'growth',
      { state: 42 },
      '6 s after the last poll, when it had been in state 42 (not in the specification) for 59 s; the wait there is 2.5 % of that time, from 500 ms to 1 h, give or take 10 %',
      fraction,
    ],
    [
      'stuck_moment',
      {},
      'the moment from which a poll confirms it as stuck waiting for the card provider, by the limit it had when this was planned',
    ],
    ['risk_moment', {}, 'the moment from which a poll announces that it is at risk, as its session is about to end'],
    ['give_up', {}, 'the last look before watching is given up'],
    [
      'failure',
      { failures: 1, nextPollAt: NOW + 4 * SECOND },
      '5 s after one failed poll; it was read before, so the plan of its state goes on',
    ],
    [
      'failure',
      { failures: 4, nextPollAt: NOW + 42 * SECOND },
      '43 s after 4 failed polls in a row; it was read before, so the plan of its state goes on',
    ],
    [
      'retry_after',
      { failures: 1, nextPollAt: NOW + 59 * SECOND },
      '1 min after one failed poll, because the service itself asked for so much time',
    ],
    [
      'recheck',
      { ...settled, nextPollAt: NOW + 22 * HOUR },
      'a recheck: the state is final, and looked at once more 1 d later',
      recheck,
    ],
    ['invoice', { ...settled, invoice: 'wanted' }, 'its invoice details are asked for with it'],
    [
      'invoice',
      { ...settled, invoice: 'wanted', failures: 2 },
      'its invoice details are asked for with it, after 2 failed polls in a row',
    ],
    ['requested', {}, 'somebody asked for it by hand'],
    ['requested', { status: 'expired' }, 'somebody asked for it by hand, although watching has ended'],
    ['site_readable', { failures: 9 }, 'at once, because site se can be read again'],
    ['repaired', {}, 'at once, because its row was repaired from what was announced of it'],
  ])('%s', (nextPollReason, differs, text, policy) => {
    const why = whyThen(aPurchase({ ...differs, nextPollReason }), { ...DEFAULT_POLL_POLICY, ...policy });
    expect(why).toEqual({ reason: nextPollReason, text });
  });

  test('whatever the settings are now', () => {
    const purchase = aPurchase({ nextPollAt: NOW + HOUR });
    expect(whyThen(purchase, DEFAULT_POLL_POLICY)).toMatchObject({
      reason: 'growth',
      text: expect.stringMatching(/^1 h after the last poll, when/),
    });
  });

  test('one that was planned before reasons were recorded says so', () => {
    const text = 'planned by an earlier version, which recorded no reason';
    expect(whyThen(aPurchase({ nextPollReason: null }), DEFAULT_POLL_POLICY)).toEqual({ reason: 'not_recorded', text });
  });

  test.each<[Partial<PurchaseFacts>, string, Partial<PollPolicy>?]>([
    [settled, '“completed” is final, and the last recheck has been made', recheck],
    [settled, '“completed” is final'],
    [{ status: 'stopped' }, 'watching was stopped'],
    [{ status: 'expired' }, 'watching was given up'],
  ])('none is planned for %j', (differs, text, policy) => {
    const why = whyThen(aPurchase({ ...differs, nextPollAt: null, nextPollReason: null }), { ...DEFAULT_POLL_POLICY, ...policy });
    expect(why).toEqual({ reason: 'never', text: `not polled any more: ${text}` });
  });
});

describe('a poll that is late', () => {
  const late = { nextPollAt: NOW - MINUTE } as const;
  test.each<[string, Parameters<typeof theFacts>[0], RegExp, string | undefined]>([
    [
      'without a daemon',
      { owner: { replica: null, leaseUntil: null, replicas: 0, othersDue: 3, silence: SILENCE } },
      /no daemon is running/,
      'no_daemon',
    ],
    [
      'without an owner',
      { owner: { replica: 'rep_0', leaseUntil: null, replicas: 2, othersDue: 3, silence: SILENCE } },
      /its shard has no owner at this moment/,
      'poll_late',
    ],
    [
      'of a former site',
      { site: { configured: false, failingSince: null, lastSuccessAt: null, lastError: null } },
      /no running daemon has site se in its settings, so this purchase is not polled: name the site in the settings again/,
      'site_not_configured',
    ],
    [
      'of a renamed site',
      { site: RENAMED },
      /this purchase is not polled until it has moved from site se to site no, which names se in "formerly": a daemon moves it by itself/,
      'site_not_configured',
    ],
    [
      'of a renamed site whose row another session has locked',
      { site: RENAMED, purchase: { ...late, lockedBy: 4_711 } },
      /it cannot move because session 4711 of the database has locked its row: .*pg_terminate_backend\(4711\)/,
      'site_not_configured',
    ],
    [
      'for the turn of the daemon that knows its site',
      { owner: TURNS },
      /different settings and take turns: site se is in those of b alone, whose turn with this purchase begins in 20 s/,
      'poll_late',
    ],
    [
      'of a site that fails',
      { site: { configured: true, failingSince: NOW - HOUR, lastSuccessAt: null, lastError: 'Timed out.' } },
      /site se does not answer/,
      'site_failing',
    ],
    [
      'among others',
      { owner: { replica: 'r', leaseUntil: NOW + 1, replicas: 1, othersDue: 40, silence: SILENCE } },
      /40 more of its shard are due, and the site's ceiling/,
      'poll_late',
    ],
    [
      'among very many',
      { owner: { replica: 'r', leaseUntil: NOW + 1, replicas: 1, othersDue: 1_000, silence: SILENCE } },
      /a hundred or more of its shard are due/,
      'poll_late',
    ],
    [
      'for no known reason',
      {},
      /waits for its turn .*\(maxRps\), its last tries got no usable answer, or it is on its way/,
      'poll_late',
    ],
  ])('%s says so', (_, differs, text, code) => {
    const { next, matters } = explained({ purchase: late, ...differs });
    expect(texts(next, 'poll')).toEqual([expect.stringMatching(/^next poll, late by 1 min: /)]);
    expect(texts(next, 'poll')[0]).toMatch(text);
    expect(matters.map((matter) => matter.code)).toEqual([code]);
  });

  test.each<[string, Facts['firstPoll'], RegExp]>([
    [
      'behind others',
      { ahead: 20_224, ceiling: 50 },
      /^it was registered in bulk, and about 20 000 of the first polls of bulk registrations at site se come before its own, which is made within about 6 min 45 s at 50 calls a second; purchases that are registered one by one go first/,
    ],
    ['before a daemon has called', { ahead: 3_200, ceiling: null }, /before its own, which is made at a time that is not known/],
    [
      'with the next ones',
      { ahead: 0, ceiling: 50 },
      /none of the first polls .* comes before its own, which is made within about 1 s/,
    ],
  ])('is not said of the first poll of a bulk registration: %s', (_, firstPoll, text) => {
    const facts = { purchase: { ...late, lastPolledAt: null }, firstPoll };
    const { next, matters, verdict } = explained(facts);
    expect(matters).toEqual([]);
    expect(texts(next, 'poll')[0]!.replace('next poll: ', '')).toMatch(text);
    expect(verdict.replace('Not polled yet: ', '')).toMatch(text);
    expect(verdict).not.toMatch(/late|well/);
    // Something that keeps it from its turn is said.
    expect(explained({ ...facts, purchase: { ...facts.purchase, lockedBy: 7 } }).verdict).toMatch(
      /late by 1 min: session 7 .* locked/,
    );
  });

  test('by a few seconds is only on its way', () => {
    expect(explained({ purchase: { nextPollAt: NOW - 4 * SECOND } }).matters).toEqual([]);
  });
});

describe('the wait after a failure', () => {
  const why = (differs: Partial<PurchaseFacts>) =>
    whyThen(aPurchase({ failures: 1, nextPollReason: 'failure', ...differs }), DEFAULT_POLL_POLICY).text.split('; ')[1];
  test('goes by the plan of its state only where the purchase was read and is known', () => {
    const doubles = 'the wait doubles with each, up to a day';
    expect(why({})).toBe('it was read before, so the plan of its state goes on');
    expect([why({ state: null }), why({ unknowns: 1 }), why({ status: 'settled' })]).toEqual([doubles, doubles, doubles]);
    expect(why({ state: null, unknowns: 1 })).toBe(doubles);
  });
  test('a purchase that was stopped is asked for by hand all the same', () => {
    const purchase = aPurchase({ status: 'stopped', nextPollReason: 'requested' });
    expect(whyThen(purchase, DEFAULT_POLL_POLICY).text).toBe('somebody asked for it by hand, although watching has ended');
    const unseen = aPurchase({ status: 'settled', state: null, nextPollAt: null });
    expect(whyThen(unseen, DEFAULT_POLL_POLICY).text).toBe('not polled any more: its state is final');
  });
  test('a wait whose first length is its longest is fixed', () => {
    const poll = { first: MINUTE, growth: 0.1, most: MINUTE };
    const policy = { ...DEFAULT_POLL_POLICY, fallback: aStatePolicy({ poll }) };
    expect(whyThen(aPurchase({ state: 42 }), policy).text).toMatch(/the wait there is 1 min, give or take 10 %$/);
  });
});
