/** What is said of an incident afterwards: the bill, one sentence, how the loss was reckoned, and a text for a mail. */
import { describe, expect, test } from 'vitest';
import type { Loss, Member, MemberOutcome } from '../../../src/domain/trends/aftermath.ts';
import {
  type AftermathTimes,
  aftermathSentence,
  aftermathText,
  billLine,
  billOf,
  isBeyondUsual,
  nearestMarks,
  rangeText,
  reckoningText,
  roughly,
} from '../../../src/domain/trends/aftermath-words.ts';
import { isoTime } from '../../../src/domain/values/time.ts';
import { aMember } from './a-member.ts';

/** Customers who ended so, each with one purchase; `price` and `currency` of all of them. */
const ended = (outcome: MemberOutcome, customers: number, price: string | null = null, currency = 'SEK'): Member[] =>
  Array.from({ length: customers }, (_, at) => {
    const member = aMember(`${outcome}-${price}-${currency}-${at}`, 0, outcome, price);
    return price === null ? member : { ...member, currency };
  });

const aLoss = (over: Partial<Loss> = {}): Loss => ({
  customers: { about: 46.6, from: 38.9, to: 54.2 },
  money: [{ currency: 'SEK', about: 30_212.4, from: 25_250.1, to: 35_149.9 }],
  ...{ came: 1_360, expected: 1_186.4, paid: 72, open: 0, usual: { customers: 2_296, paid: 2_002 } },
  ...over,
});

describe('the bill', () => {
  test('counts customers by how they ended, and their money by currency', () => {
    const bill = billOf([
      ...ended('paid', 1, '100.10'),
      ...ended('paid_by_another', 2, '20'),
      ...ended('not_paid', 3, '5.5'),
      ...ended('open', 4, '1'),
      ...ended('open', 1, '7', 'EUR').map((each) => ({ ...each, isWatched: false })),
    ]);
    expect(bill).toEqual({
      customers: { stuck: 11, paid: 1, paidByAnother: 2, notPaid: 3, open: 5, watched: 4 },
      money: [
        { currency: 'SEK', customers: 10, stuck: '160.60', wonBack: '140.10', notPaid: '16.5', open: '4' },
        { currency: 'EUR', customers: 1, stuck: '7', wonBack: '0', notPaid: '0', open: '7' },
      ],
      unpriced: 0,
    });
  });

  test('counts a customer of several purchases once, and as watched only while open', () => {
    const twice = [...ended('paid', 1, '100'), ...ended('paid', 1, '100'), ...ended('not_paid', 1)].map((each, came) => ({
      ...{ ...each, came, isWatched: true },
    }));
    expect(billOf(twice)).toMatchObject({ customers: { stuck: 2, paid: 1, watched: 0 }, money: [{ stuck: '100' }] });
  });

  test('adds up only amounts whose currency is known, and says of how many customers none is', () => {
    const without = [
      ...ended('paid', 2),
      ...ended('open', 1, '9').map((each) => ({ ...each, currency: null })),
      ...ended('open', 1).map((each) => ({ ...each, currency: 'SEK' })),
    ];
    expect(billOf(without)).toMatchObject({ money: [], unpriced: 4 });
    expect(billOf([...without, ...ended('open', 1, '8')])).toMatchObject({ money: [{ open: '8' }], unpriced: 4 });
  });

  test('has the currency of most customers first, and those of as many by their names', () => {
    const currencies = (...own: [currency: string, customers: number][]): string[] =>
      billOf(own.flatMap(([currency, customers]) => ended('paid', customers, '1', currency))).money.map((each) => each.currency);
    expect(currencies(['EUR', 1], ['NOK', 3], ['SEK', 2])).toEqual(['NOK', 'SEK', 'EUR']);
    expect(currencies(['SEK', 1], ['EUR', 1], ['NOK', 1])).toEqual(['EUR', 'NOK', 'SEK']);
    expect(currencies(['EUR', 1], ['NOK', 1], ['SEK', 1])).toEqual(['EUR', 'NOK', 'SEK']);
  });
});

describe('the facts in one line', () => {
  const line = (...members: Member[]): string => billLine(billOf(members));

  test('say how each customer ended, and which money waited', () => {
    expect(
      line(
        ...[...ended('paid', 22, '3000'), ...ended('paid_by_another', 18, '100.5', 'EUR'), ...ended('not_paid', 1_060)],
        ...[...ended('open', 2, '7', 'NOK')],
      ),
    ).toBe(
      '1 102 customers got stuck with 66 000 SEK, 1 809.00 EUR and 14 NOK: 22 paid late, 18 paid by another purchase, 1 060 did not pay, 2 are still open.',
    );
  });

  test('leave out ends that nobody had and money that is not there', () => {
    expect(line(...ended('open', 1))).toBe('1 customer got stuck: 1 is still open.');
    expect(line(...ended('paid', 2, '10'), ...ended('paid', 1, '0.00', 'EUR'))).toBe(
      '3 customers got stuck with 20 SEK: 3 paid late.',
    );
    expect(line(...ended('paid', 2, '10'), ...ended('paid', 1, '5', 'EUR'))).toBe(
      '3 customers got stuck with 20 SEK and 5 EUR: 3 paid late.',
    );
    expect(line()).toBe('');
  });
});

test.each([
  [0, '0'],
  [0.4, '0'],
  [7.6, '8'],
  [999.4, '999'],
  [1_004, '1 000'],
  [1_005, '1 010'],
  [15_249.7, '15 200'],
  [1_234_567, '1 230 000'],
])('%f is told by three digits', (value, told) => {
  expect(roughly(value)).toBe(told);
});

test('a range is told by three digits at each end', () => {
  expect(rangeText({ about: 1, from: 38.4, to: 1_054 })).toBe('38 to 1 050');
});

test('more than usual were lost where at least one customer surely was', () => {
  const from = (least: number) => isBeyondUsual(aLoss({ customers: { about: 9, from: least, to: 12 } }));
  expect([from(0), from(0.4), from(0.5), from(3)]).toEqual([false, false, true, true]);
});

describe('the sentence', () => {
  const say = (members: readonly Member[], loss: Loss | null = null): string =>
    aftermathSentence({ where: 'shop-se', place: 'waiting for the card provider', bill: billOf(members), loss });
  const usual = aLoss({ customers: { about: 2, from: 0, to: 9 } });

  test('names the loss where more were lost than usual', () => {
    expect(say([...ended('paid', 3), ...ended('not_paid', 2)], aLoss())).toBe(
      'shop-se: 2 of 5 customers who got stuck waiting for the card provider did not pay; of all who came then, about 47 (39 to 54) more than usual did not pay, worth about 30 200 SEK.',
    );
    expect(say(ended('paid', 3), aLoss({ customers: { about: 1.2, from: 0.6, to: 2 }, money: [] }))).toBe(
      'shop-se: 3 customers got stuck waiting for the card provider, and none of them is known to be lost; of all who came then, about 1 (1 to 2) more than usual did not pay.',
    );
  });

  test('names each currency in which something was lost, and no other', () => {
    const money = [...aLoss().money, { currency: 'EUR', about: 0.3, from: 0, to: 90 }];
    expect(say(ended('paid', 3), aLoss({ money }))).toContain('did not pay, worth about 30 200 SEK.');
    expect(say(ended('paid', 3), aLoss({ money: money.slice(1) }))).toMatch(/more than usual did not pay\.$/);
    expect(say(ended('paid', 3), aLoss({ money: [...money.slice(0, 1), { ...money[1]!, about: 512.7 }] }))).toContain(
      'did not pay, worth about 30 200 SEK and 513 EUR.',
    );
  });

  test('says that no more were lost than usual, and how many paid after all', () => {
    expect(say([...ended('paid', 3), ...ended('paid_by_another', 1_000), ...ended('not_paid', 1)], usual)).toBe(
      'shop-se lost no more customers than usual: 1 004 customers got stuck waiting for the card provider, and 1 003 of them paid after all.',
    );
  });

  test('says no more than the facts where no loss could be reckoned', () => {
    expect(say(ended('not_paid', 2))).toBe(
      'shop-se: 2 customers got stuck waiting for the card provider, and none of them paid after all.',
    );
    expect(say([...ended('paid', 1), ...ended('paid_by_another', 1)])).toBe(
      'shop-se: 2 customers got stuck waiting for the card provider, and all of them paid after all.',
    );
    expect(say(ended('paid', 1))).toBe('shop-se: 1 customer got stuck waiting for the card provider, and paid after all.');
    expect(say(ended('open', 1))).toBe('shop-se: 1 customer got stuck waiting for the card provider, and has not paid.');
  });

  test('says that it is not known who was in it, whatever was reckoned', () => {
    expect(say([], aLoss())).toBe('shop-se: who was in it is not kept.');
  });
});

describe('how the loss was reckoned', () => {
  const counted = (loss: Loss | null): string => reckoningText(loss, { isCounted: true });

  test('is told with every number that went in', () => {
    expect(counted(aLoss())).toBe(
      '1 360 customers came in that time. In the same hours of the days before, 87.2 % of 2 296 paid: 1 186 were expected, 72 paid.' +
        ' The difference is 47; with 95 % certainty it lies between 39 and 54. Money: so many times the mean of those who have not paid.' +
        ' This says how many more were lost than usual, and not that the incident was the cause of each.',
    );
  });

  test('says who may pay yet', () => {
    expect(counted(aLoss({ open: 3 }))).toContain('and 54. 3 customers may pay yet: the lower end counts them as paid. Money:');
    expect(counted(aLoss({ open: 1 }))).toContain(' 1 customer may pay yet:');
  });

  test('says why nothing was: not yet, or of too few', () => {
    expect(reckoningText(null, { isCounted: false })).toMatch(/is reckoned within a minute after the end\.$/);
    expect(counted(null)).toMatch(/cannot be said: fewer than 30 customers came/);
  });
});

describe('the text for a mail', () => {
  const began = Date.UTC(2026, 10, 20, 20, 6);
  const minute = (after: number): number => began + after * 60_000;
  const times: AftermathTimes = {
    ...{ firstCame: minute(0), firstStuck: minute(15), noticed: minute(16) },
    ...{ acknowledged: minute(38), ended: minute(98) },
  };
  type Marks = Parameters<typeof aftermathText>[0]['marks'];
  const text = (over: { loss?: Loss | null; members?: Member[]; times?: Partial<AftermathTimes>; marks?: Marks }): string[] =>
    aftermathText(
      {
        ...{ id: 'inc_1', severity: 'critical', where: 'shop-se', place: 'waiting for the card provider' },
        bill: billOf(over.members ?? [...ended('paid', 3, '1000'), ...ended('not_paid', 2, '400.5')]),
        loss: over.loss ?? null,
        times: { ...times, ...over.times },
        marks: over.marks ?? [],
      },
      { clock: (at) => isoTime(at).slice(11, 16), day: (at) => isoTime(at).slice(0, 10), zone: 'UTC' },
    ).split('\n');

  test('is the story from the first customer to the end', () => {
    expect(text({ loss: aLoss() })).toEqual([
      'Incident inc_1: shop-se, waiting for the card provider, 2026-11-20',
      '20:06 to 21:44 UTC, 1 h 38 min, critical',
      '',
      '5 customers got stuck with 3 801.00 SEK.',
      '3 paid late, 2 did not pay.',
      '3 000 SEK was paid in the end.',
      'About 47 customers (39 to 54) more than usual did not pay.',
      'In money: about 30 200 SEK (25 300 to 35 100).',
      '',
      '20:06 first of them came',
      '20:22 noticed, 1 min after the first got stuck',
      '20:44 acknowledged, 22 min after that',
      '21:44 ended',
    ]);
  });

  test('of one that is open, that nobody acknowledged, and whose customers are not kept', () => {
    expect(text({ members: [], times: { firstCame: null, firstStuck: null, acknowledged: null, ended: null } })).toEqual([
      'Incident inc_1: shop-se, waiting for the card provider, 2026-11-20',
      '20:22 UTC, still open, critical',
      '',
      'Who was in it is not kept.',
      '',
      '20:22 noticed',
      'nobody acknowledged the incident',
    ]);
  });

  test('says where no more were lost than usual, and nothing of a loss that was not reckoned', () => {
    const usual = aLoss({ customers: { about: 2, from: 0, to: 9 } });
    expect(text({ loss: usual }).slice(5, 8)).toEqual([
      '3 000 SEK was paid in the end.',
      'No more customers were lost than usual.',
      '',
    ]);
    expect(text({}).slice(5, 7)).toEqual(['3 000 SEK was paid in the end.', '']);
  });

  test('says of money only where there is some', () => {
    const came = (members: Member[]) => text({ members }).slice(3, -5);
    expect(came(ended('paid', 1))).toEqual(['1 customer got stuck.', '1 paid late.']);
    expect(came(ended('not_paid', 1, '5'))).toEqual(['1 customer got stuck with 5 SEK.', '1 did not pay.']);
    expect(came(ended('paid_by_another', 1, '5'))).toEqual([
      ...['1 customer got stuck with 5 SEK.', '1 paid by another purchase.', '5 SEK was paid in the end.'],
    ]);
  });

  test('has the marks between what happened, each at its time', () => {
    const marks = [
      { at: minute(-14), text: 'deploy 4.2', site: 'se' },
      { at: minute(85), text: '4.2 taken back', site: null },
    ];
    expect(text({ marks }).slice(-6)).toEqual([
      '19:52 deploy 4.2 (mark, se)',
      '20:06 first of them came',
      '20:22 noticed, 1 min after the first got stuck',
      '20:44 acknowledged, 22 min after that',
      '21:31 4.2 taken back (mark)',
      '21:44 ended',
    ]);
    expect(text({ marks, times: { acknowledged: null } }).slice(-4)[1]).toBe('nobody acknowledged the incident');
  });

  test('has the six marks nearest to the first customer, says how many more there are, and stays short', () => {
    const marks = [20, -3, -2, -1, 1, 2, 3, 30].map((after) => ({ at: minute(after), text: `mark ${after}`, site: null }));
    const money = ['SEK', 'EUR', 'NOK', 'DKK', 'USD', 'GBP', 'CHF'].map((currency) => ({ currency, about: 9, from: 8, to: 10 }));
    const lines = text({ marks, loss: aLoss({ money }) });
    expect(lines).toHaveLength(24);
    expect(lines.filter((line) => line.endsWith('(mark)')).map((line) => line.split(' ')[2])).toEqual([
      '-3',
      '-2',
      '-1',
      '1',
      '2',
      '3',
    ]);
    expect(lines.at(-1)).toBe('2 more marks of that time');
    expect(nearestMarks(marks, minute(0)).others.map(({ text }) => text)).toEqual(['mark 20', 'mark 30']);
  });

  test('says no time that runs backwards, when a clock was set back', () => {
    expect(text({ times: { noticed: minute(14) } })).toContain('20:20 noticed, 0 s after the first got stuck');
  });

  test('has at most 24 lines, in however many currencies customers pay', () => {
    const money = Array.from({ length: 40 }, (_, at) => ({ currency: `C${at}`, about: 9, from: 8, to: 10 }));
    const lines = text({ loss: aLoss({ money }) });
    expect(lines.filter((line) => line.startsWith('In money'))).toHaveLength(5);
    expect(lines.length).toBeLessThanOrEqual(24);
  });
});
