/** The aftermath of an incident of stuck purchases, added up and in sentences. Pure. */

import { apart, counted, grouped } from '../values/counts.ts';
import { humanDuration } from '../values/duration.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import { eachCustomer, type Loss, type Member, type MemberOutcome, type Reckoned, sumOf } from './aftermath.ts';

/** The facts: customers by how they ended, and their money by currency, largest number of customers first. */
export function billOf(members: readonly Member[]) {
  const customers = eachCustomer(members);
  const count = (outcome: MemberOutcome): number => customers.filter((each) => each.outcome === outcome).length;
  const priced = customers.filter(({ price, currency }) => price !== null && currency !== null);
  const money = [...Map.groupBy(priced, ({ currency }) => currency!)].map(([currency, own]) => {
    const sum = (outcomes: readonly MemberOutcome[]): string =>
      sumOf(own.flatMap(({ outcome, price }) => (outcomes.includes(outcome) ? [price!] : [])));
    return {
      currency,
      customers: own.length,
      stuck: sumOf(own.map(({ price }) => price!)),
      wonBack: sum(['paid', 'paid_by_another']),
      notPaid: sum(['not_paid']),
      open: sum(['open']),
    };
  });
  return {
    customers: {
      stuck: customers.length,
      paid: count('paid'),
      paidByAnother: count('paid_by_another'),
      notPaid: count('not_paid'),
      open: count('open'),
      /** Of those open, those that are watched: the others' ends will not be known. */
      watched: customers.filter(({ outcome, isWatched }) => outcome === 'open' && isWatched).length,
    },
    money: money.sort((a, b) => b.customers - a.customers || (a.currency < b.currency ? -1 : 1)),
    /** Customers of whom no amount is known. */
    unpriced: customers.length - priced.length,
  };
}
export type Bill = ReturnType<typeof billOf>;

/** `69 000 SEK and 120 EUR`; empty without amounts. */
function sumsText(sums: readonly { readonly amount: string; readonly currency: string }[]): string {
  const all = sums.map(({ amount, currency }) => `${apart(amount)} ${currency}`);
  return all.length < 2 ? (all[0] ?? '') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}

/** The sums of one kind, without those that are zero. */
function sumsIn({ money }: Bill, kind: 'stuck' | 'wonBack' | 'notPaid' | 'open') {
  return money.flatMap((each) => (Number(each[kind]) === 0 ? [] : [{ amount: each[kind], currency: each.currency }]));
}

/** `22 paid late, 18 paid by another purchase, 60 did not pay, 2 are still open`; those that are none are left out. */
function endsText({ paid, paidByAnother, notPaid, open }: Bill['customers']): string {
  const parts: [number, string][] = [
    [paid, 'paid late'],
    [paidByAnother, 'paid by another purchase'],
    [notPaid, 'did not pay'],
    [open, open === 1 ? 'is still open' : 'are still open'],
  ];
  return parts.flatMap(([count, words]) => (count === 0 ? [] : [`${grouped(count)} ${words}`])).join(', ');
}

/** The facts in one line; empty without customers. */
export function billLine(bill: Bill): string {
  const { stuck } = bill.customers;
  if (stuck === 0) return '';
  const money = sumsText(sumsIn(bill, 'stuck'));
  return `${counted(stuck, 'customer')} got stuck${money === '' ? '' : ` with ${money}`}: ${endsText(bill.customers)}.`;
}

/** A reckoned amount says no more than is known: three digits. */
function threeDigits(value: number): string {
  const step = 10 ** Math.max(Math.floor(Math.log10(Math.max(value, 1))) - 2, 0);
  return String(Math.round(value / step) * step);
}

/** `15 200` of 15 249.7. */
export const roughly = (value: number): string => apart(threeDigits(value));

/** Whether more were lost than usual, beyond what chance makes. */
export const isBeyondUsual = ({ customers }: Loss): boolean => Math.round(customers.from) > 0;

/** `38 to 54`. */
export const rangeText = ({ from, to }: Reckoned): string => `${roughly(from)} to ${roughly(to)}`;

interface Told {
  /** `shop-se`, `3 sites`. */
  readonly where: string;
  /** `waiting for the card provider`. */
  readonly place: string;
  readonly bill: Bill;
  readonly loss: Loss | null;
}

/** One sentence that a manager can forward. */
export function aftermathSentence({ where, place, bill, loss }: Told): string {
  const { stuck, paid, paidByAnother, notPaid } = bill.customers;
  if (stuck === 0) return `${where}: who was in it is not kept.`;
  if (loss !== null && isBeyondUsual(loss)) {
    const known =
      notPaid === 0
        ? `${counted(stuck, 'customer')} got stuck ${place}, and none of them is known to be lost`
        : `${grouped(notPaid)} of ${counted(stuck, 'customer')} who got stuck ${place} did not pay`;
    const money = loss.money.map(({ about, currency }) => ({ amount: threeDigits(about), currency }));
    const lost = sumsText(money.filter(({ amount }) => amount !== '0'));
    const worth = lost === '' ? '' : `, worth about ${lost}`;
    const more = `about ${grouped(Math.round(loss.customers.about))} (${rangeText(loss.customers)}) more than usual`;
    return `${where}: ${known}; of all who came then, ${more} did not pay${worth}.`;
  }
  const after = paid + paidByAnother;
  const ofThem = `${after === 0 ? 'none' : after === stuck ? 'all' : grouped(after)} of them paid after all`;
  const end = stuck > 1 ? ofThem : after === 1 ? 'paid after all' : 'has not paid';
  const facts = `${counted(stuck, 'customer')} got stuck ${place}, and ${end}.`;
  return loss === null ? `${where}: ${facts}` : `${where} lost no more customers than usual: ${facts}`;
}

/** How the loss was reckoned; why none was, where it is null. */
export function reckoningText(loss: Loss | null, { isCounted }: { isCounted: boolean }): string {
  if (!isCounted) return 'How many more were lost than usual is reckoned within a minute after the end.';
  if (loss === null)
    return 'How many more were lost than usual cannot be said: fewer than 30 customers came, then or in the same hours of the days before, or more than are counted.';
  const { came, expected, paid, open, customers, usual } = loss;
  const share = `${Math.round((1_000 * usual.paid) / usual.customers) / 10} %`;
  const late = open === 0 ? '' : ` ${counted(open, 'customer')} may pay yet: the lower end counts them as paid.`;
  const all = `${counted(came, 'customer')} came in that time. In the same hours of the days before, ${share} of ${grouped(usual.customers)} paid: ${grouped(Math.round(expected))} were expected, ${grouped(paid)} paid.`;
  return `${all} The difference is ${grouped(Math.round(customers.about))}; with 95 % certainty it lies between ${rangeText(customers).replace(' to ', ' and ')}.${late} Money: so many times the mean of those who have not paid. This says how many more were lost than usual, and not that the incident was the cause of each.`;
}

export interface AftermathTimes {
  /** The first of them came, and was found stuck; null: not kept. */
  readonly firstCame: Instant | null;
  readonly firstStuck: Instant | null;
  readonly noticed: Instant;
  readonly acknowledged: Instant | null;
  readonly ended: Instant | null;
}

/** A moment with a name, such as a deploy; `site` null: it is about all sites. */
interface NamedMark {
  readonly at: Instant;
  readonly text: string;
  readonly site: string | null;
}

/** Marks that are shown at once. */
const MOST_MARKS = 6;

/** The marks nearest to a moment, six at most, and the others; both first to last. */
export function nearestMarks<Mark extends NamedMark>(marks: readonly Mark[], moment: Instant): { near: Mark[]; others: Mark[] } {
  const byDistance = marks.toSorted((one, other) => Math.abs(one.at - moment) - Math.abs(other.at - moment));
  const inOrder = (some: readonly Mark[]): Mark[] => some.toSorted((one, other) => one.at - other.at);
  return { near: inOrder(byDistance.slice(0, MOST_MARKS)), others: inOrder(byDistance.slice(MOST_MARKS)) };
}

/** The story for a mail: at most 24 lines, and no id of a person. `clock` writes a time of day, `day` a day, in the zone `zone`. */
export function aftermathText(
  {
    where,
    place,
    bill,
    loss,
    id,
    severity,
    times,
    marks,
  }: Told & { id: string; severity: string; times: AftermathTimes; marks: readonly NamedMark[] },
  { clock, day, zone }: { clock: (at: Instant) => string; day: (at: Instant) => string; zone: string },
): string {
  const { firstCame, firstStuck, noticed, acknowledged, ended } = times;
  const first = firstCame ?? noticed;
  const after = (from: Instant, at: Instant): string => humanDuration(Math.max(at - from, 0) as Milliseconds);
  const [waited, won] = [sumsText(sumsIn(bill, 'stuck')), sumsText(sumsIn(bill, 'wonBack'))];
  const lost =
    loss === null
      ? []
      : isBeyondUsual(loss)
        ? [
            `About ${counted(Math.round(loss.customers.about), 'customer')} (${rangeText(loss.customers)}) more than usual did not pay.`,
            ...loss.money.map((each) => `In money: about ${roughly(each.about)} ${each.currency} (${rangeText(each)}).`),
          ]
        : ['No more customers were lost than usual.'];
  const { near, others } = nearestMarks(marks, first);
  const happened = [
    ...near.map(({ at, text, site }) => ({ at, line: `${clock(at)} ${text} (mark${site === null ? '' : `, ${site}`})` })),
    ...(firstCame === null ? [] : [{ at: firstCame, line: `${clock(firstCame)} first of them came` }]),
    {
      at: noticed,
      line: `${clock(noticed)} noticed${firstStuck === null ? '' : `, ${after(firstStuck, noticed)} after the first got stuck`}`,
    },
    acknowledged === null
      ? { at: noticed, line: 'nobody acknowledged the incident' }
      : { at: acknowledged, line: `${clock(acknowledged)} acknowledged, ${after(noticed, acknowledged)} after that` },
    ...(ended === null ? [] : [{ at: ended, line: `${clock(ended)} ended` }]),
  ];
  return [
    `Incident ${id}: ${where}, ${place}, ${day(first)}`,
    `${clock(first)}${ended === null ? ` ${zone}, still open` : ` to ${clock(ended)} ${zone}, ${after(first, ended)}`}, ${severity}`,
    '',
    ...(bill.customers.stuck === 0
      ? ['Who was in it is not kept.']
      : [
          `${counted(bill.customers.stuck, 'customer')} got stuck${waited === '' ? '' : ` with ${waited}`}.`,
          `${endsText(bill.customers)}.`,
          ...(won === '' ? [] : [`${won} was paid in the end.`]),
        ]),
    ...lost.slice(0, 6),
    '',
    ...happened.toSorted((one, other) => one.at - other.at).map(({ line }) => line),
    ...(others.length === 0 ? [] : [`${counted(others.length, 'more mark')} of that time`]),
  ].join('\n');
}
