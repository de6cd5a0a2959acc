import { expect, test } from 'vitest';
import { paidTwice, paidTwiceSteps } from '../../../src/domain/explain/paid-twice.ts';
import { NOW, theFacts } from './facts.ts';

const payment = (purchaseId: string) => ({ purchaseId, price: '249.50', currency: 'SEK', completedAt: NOW });
const facts = (others: readonly string[], differs: object = {}) =>
  theFacts({
    order: {
      payments: ['p-1', ...others].map(payment),
      ...{ announcedAt: null, counts: { paid: 100, repeated: 1 } },
      ...differs,
    },
  });

test('an order that was paid by others, too, is the matter, with whom to refund', () => {
  expect(paidTwice(facts(['p-2']))).toEqual({
    code: 'paid_twice',
    text: expect.stringMatching(/^Its order was paid twice, also by p-2 \(249\.50 SEK, completed 2026-11-20 09:25Z\): /),
  });
  expect(paidTwice(facts(['p-2', 'p-3']))?.text).toMatch(/^Its order was paid 3 times, also by p-2 .* and p-3 /);
  const unknown = facts([], { payments: [payment('p-1'), { ...payment('p-2'), currency: null }] });
  expect(paidTwice(unknown)?.text).toContain('p-2 (amount not known, ');
});

test.each([
  ['was paid once', facts([])],
  ['has a reference that the site reuses', facts(['p-2'], { counts: { paid: 100, repeated: 3 } })],
  ['has more payments than any order', facts(['p-2', 'p-3', 'p-4', 'p-5', 'p-6'])],
])('an order that %s is none', (_, given) => expect(paidTwice(given)).toBeNull());

test('how things stand says why nothing is announced', () => {
  const [isNews, isNone] = [facts(['p-2']), facts(['p-2'], { counts: { paid: 100, repeated: 3 } })].map(paidTwiceSteps);
  expect(isNews).toEqual({ steps: [], standing: [expect.objectContaining({ kind: 'order', wrong: true })] });
  expect(isNone!.standing[0]!.text).toMatch(/; that is not announced, because 3 of the last 100 /);
  expect(isNone!.standing[0]!.wrong).toBeUndefined();
  expect(paidTwiceSteps(facts([], { announcedAt: NOW }))).toEqual({
    steps: [expect.objectContaining({ at: NOW, text: 'announced that its order was paid twice (order.paid_twice)' })],
    standing: [],
  });
});

test('a reference with more payments than any order names none of them, and as many as may be are shown', () => {
  const [four, five, six] = [4, 5, 6].map((count) => facts(Array.from({ length: count }, (_, at) => `p-${at + 2}`)));
  expect(paidTwice(four!)?.text).toMatch(/^Its order was paid 5 times, /);
  const shownAs = (id: number) => `p-${id} (249.50 SEK, completed 2026-11-20 09:25Z)`;
  const shown = [2, 3, 4, 5, 6].map(shownAs).join(' and ');
  const why = 'that is not announced, because a reference with more than 5 completed purchases names no order';
  const text = `its order was paid also by ${shown}; ${why}`;
  expect([five!, six!].map((each) => paidTwiceSteps(each).standing[0]?.text)).toEqual([text, text]);
  const unpriced = facts([], { payments: [payment('p-1'), { ...payment('p-2'), price: null }] });
  expect(paidTwice(unpriced)?.text).toContain('p-2 (amount not known, ');
});
