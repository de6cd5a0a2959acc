/** What a replica reports of a site, and when failures count against no purchase: with stand-ins of the database and the clock. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createSiteReach } from '../../../../src/daemon/poller/sites/site-reach.ts';
import type { AskedPurchase } from '../../../../src/domain/polling/reach.ts';
import type { Observation } from '../../../../src/domain/purchases/purchase.ts';
import { answer, trouble } from '../../../support/a-purchase.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const START = Date.UTC(2026, 10, 20, 9, 15);
const good = answer(0);
const same = { kind: 'same', digest: 'a digest' } as unknown as Observation;
const [malformed, unknown, refused] = [trouble('malformed'), trouble('unknown'), trouble('refused')];

interface Fragment {
  readonly text: string;
  readonly values: readonly unknown[];
}
/** A report as it was sent to the database; moments are milliseconds since the test began. */
type Report = Readonly<Record<string, string | number | null>>;

let reach: ReturnType<typeof createSiteReach>;
let elapsed: number;
let reports: Report[];
/** What the database knows of the site over all replicas. */
let condition: { isKnown: boolean; since: number | null; reason: string | null };

beforeEach(() => {
  elapsed = 0;
  reports = [];
  condition = { isKnown: true, since: null, reason: null };
  const sql = Object.assign(
    (strings: readonly string[], ...given: readonly unknown[]) => ({
      text: strings.join(''),
      values: given.flatMap((value) => (isFragment(value) ? [value.text, ...value.values] : [value])),
      // biome-ignore lint/suspicious/noThenProperty: a statement of the driver is sent when it is awaited.
      then: (resolve: (rows: unknown) => void) => {
        const text = strings.join('');
        if (text.includes('site_reach')) reports.push(reportOf(given));
        resolve(text.includes('moved') ? [{ moved: 0, examined: 0, last: null }] : [condition]);
      },
    }),
    { unsafe: (text: string) => text },
  );
  const log = { warn: () => undefined, info: () => undefined, error: () => undefined };
  const clock = { now: () => START + elapsed + 0.4, monotonic: () => elapsed };
  const options = { sql, clock, log, replica: 'rep_1', onReported: () => undefined };
  reach = createSiteReach('se', options as unknown as Parameters<typeof createSiteReach>[1]);
});

const isFragment = (value: unknown): value is Fragment => typeof value === 'object' && value !== null && 'values' in value;

/** By the places of the statement's values. */
function reportOf(given: readonly unknown[]): Report {
  const [, readWell, failing, reason, error, , firstSeen, read, success, consequence] = given as [string, ...Fragment[]];
  const moment = ({ values: [at] }: Fragment): number | null => (at === null ? null : Math.round(at as number) - START);
  const { text } = consequence!;
  const fails = text.includes('coalesce') ? 'fails' : 'unclear';
  const verdict = text.includes('= null') ? 'reads' : text.includes("'unknown'") ? 'answers' : fails;
  return {
    verdict,
    failing: moment(failing!),
    reason: reason as unknown as string | null,
    error: error as unknown as string | null,
    readWell: moment(readWell!),
    read: moment(read!),
    success: moment(success!),
    firstSeen: moment(firstSeen!),
  };
}

const purchase = (id: number, differs: Partial<AskedPurchase> = {}): AskedPurchase => ({
  ...{ id, status: 'watching', failures: 0, seenAt: 1 },
  ...differs,
});
/** Learns from answers about purchases, and answers what the breaker counts. */
const answered = (seen: Observation, ...ids: readonly number[]): readonly string[] =>
  ids.map((id) => reach.answered(seen, purchase(id)).kind);
/** Reports, and waits until the report has reached the database. */
const report = async (awaited = 0): Promise<Report | undefined> => {
  reports = [];
  reach.report(awaited);
  await new Promise(setImmediate);
  return reports.at(-1);
};
const look = async (awaited = 0): Promise<Report | undefined> => {
  reports = [];
  reach.look(awaited);
  await new Promise(setImmediate);
  return reports.at(-1);
};
const NOTHING = { failing: null, reason: null, error: null, readWell: null, read: null, success: null, firstSeen: null };

describe('a report', () => {
  test('says nothing of a site before enough purchases were answered about', async () => {
    answered(unknown, 1, 2, 3, 4);
    expect(await report()).toEqual({ verdict: 'unclear', ...NOTHING, success: 0 });
  });

  test('says that the service answers where it only did not know the ids', async () => {
    answered(unknown, 1, 2);
    for (const id of [3, 4, 5]) reach.answered(unknown, purchase(id, { failures: 1 }));
    expect(await report()).toEqual({ verdict: 'answers', ...NOTHING, success: 0 });
  });

  test('says that purchases are read, since when, and when they were read last and by enough answers', async () => {
    answered(good, 1, 2, 3, 4, 5);
    const read = { verdict: 'reads', ...NOTHING, readWell: 0, read: 0, success: 0, firstSeen: 0 };
    expect(await report()).toEqual(read);
    elapsed = 10 * SECOND;
    answered(same, 1);
    answered(unknown, 6);
    const then = { ...read, readWell: elapsed, read: elapsed, success: elapsed };
    expect(await report()).toEqual(then);
    elapsed = 20 * SECOND;
    expect(await report()).toEqual({ ...then, verdict: 'unclear' });
    answered(unknown, 7);
    elapsed = 30 * SECOND;
    expect(await report()).toEqual({ ...then, verdict: 'answers', success: 20 * SECOND });
  });

  test('says that no purchase can be read, since when and why', async () => {
    elapsed = 2 * SECOND;
    answered(refused, 1);
    elapsed = 7 * SECOND;
    const fails = { verdict: 'fails', ...NOTHING, failing: 2 * SECOND, reason: 'refused' };
    expect(await report()).toEqual({ ...fails, error: 'The service answers refused.' });
    expect(await report()).toBeUndefined();
    answered(trouble('refused', { reason: 'http_403' }), 1);
    expect(await report()).toEqual({ ...fails, error: 'The service answers http_403.' });
    expect(await report()).toBeUndefined();
  });

  test('without news is made once in five seconds', async () => {
    answered(good, 1, 2, 3, 4, 5);
    expect(await report()).toBeDefined();
    answered(good, 1);
    elapsed = 5 * SECOND - 1;
    expect(await report()).toBeUndefined();
    elapsed = 5 * SECOND;
    expect(await report()).toMatchObject({ verdict: 'reads' });
  });

  test('says what the breaker found, since the first failure, and not that the few purchases read before were enough', async () => {
    answered(good, 2);
    answered(trouble('unreachable'), 1);
    elapsed = 3 * SECOND;
    expect(await report()).toMatchObject({ verdict: 'unclear' });
    reach.fails('unreachable', 'down');
    expect(await report()).toMatchObject({
      verdict: 'fails',
      failing: 0,
      reason: 'unreachable',
      error: 'down',
      read: 0,
      readWell: null,
    });
  });

  test('of a site that failed counts purchases that were read since, and no failures from before', async () => {
    answered(trouble('unreachable'), ...Array.from({ length: 20 }, (_, id) => id + 100));
    reach.fails('unreachable', 'down');
    expect(await report()).toMatchObject({ verdict: 'fails' });
    answered(good, 1, 2, 3, 4);
    expect(await report()).toMatchObject({ verdict: 'unclear', readWell: null });
    answered(good, 5);
    expect(await report()).toMatchObject({ verdict: 'reads', readWell: 0 });
  });

  test('of a site that fails counts no purchases that were read before it did', async () => {
    answered(good, 1, 2, 3, 4, 5);
    await report();
    reach.fails('unreachable', 'down');
    expect(await report()).toMatchObject({ verdict: 'fails', readWell: 0 });
    answered(unknown, 6);
    expect(await report()).toMatchObject({ verdict: 'unclear' });
  });

  test('counts failures of purchases that were well and are watched', async () => {
    answered(good, 1, 2, 3, 4, 5);
    for (const id of [11, 12]) reach.answered(trouble('unreachable'), purchase(id, { failures: 1 }));
    for (const id of [13, 14]) reach.answered(trouble('unreachable'), purchase(id, { status: 'settled' }));
    expect(await report()).toMatchObject({ verdict: 'reads' });
    answered(good, 1);
    answered(trouble('unreachable'), 15);
    elapsed = 5 * SECOND - 1;
    expect(await report(1)).toBeUndefined();
    elapsed = 5 * SECOND;
    expect(await report(1)).toMatchObject({ verdict: 'unclear' });
  });

  test('counts no answer to another question than that for a purchase', async () => {
    for (let count = 0; count < 6; count++) reach.answered(good, null);
    expect(await report()).toMatchObject({ verdict: 'unclear', read: 0, success: 0, firstSeen: 0 });
  });
});

describe('what time alone decides', () => {
  test('is that a site with few purchases is read: after five seconds, once no call is under way', async () => {
    answered(good, 1);
    await report();
    elapsed = 5 * SECOND - 1;
    expect(await look()).toBeUndefined();
    elapsed = 5 * SECOND;
    expect(await look(1)).toBeUndefined();
    expect(await look()).toMatchObject({ verdict: 'reads' });
    answered(good, 1);
    elapsed = 20 * SECOND;
    expect(await look()).toBeUndefined();
  });

  test('is not that it answers once more, without an answer since the last report', async () => {
    answered(unknown, 1, 2);
    for (const id of [3, 4, 5]) reach.answered(unknown, purchase(id, { failures: 1 }));
    expect(await report()).toMatchObject({ verdict: 'answers' });
    elapsed = 20 * SECOND;
    expect(await look()).toBeUndefined();
  });

  test('is that it is blind: once', async () => {
    answered(malformed, 1, 2, 3);
    expect(await report()).toMatchObject({ verdict: 'unclear', failing: null });
    elapsed = 2 * MINUTE - 1;
    expect(await look()).toBeUndefined();
    elapsed = 2 * MINUTE;
    expect(await look()).toMatchObject({ verdict: 'fails', failing: 0, reason: 'malformed' });
    elapsed = 3 * MINUTE;
    expect(await look()).toBeUndefined();
  });

  test('begins anew after a rest', async () => {
    reach.rest();
    answered(malformed, 1, 2, 3);
    await report();
    elapsed = MINUTE;
    reach.rest();
    elapsed = 3 * MINUTE - 1;
    expect(await look()).toBeUndefined();
    elapsed = 3 * MINUTE;
    expect(await look()).toMatchObject({ verdict: 'fails', failing: MINUTE, reason: 'malformed' });
  });
});

describe('failures count against no purchase, and nonsense and unknown ids are failures of the site', () => {
  test.each([malformed, unknown])('from the third purchase on: $kind', (seen) => {
    expect(answered(seen, 1, 2)).toEqual([seen.kind, seen.kind]);
    expect(reach.excuses()).toBe(false);
    expect(answered(seen, 3)).toEqual(['unreachable']);
    expect(reach.excuses()).toBe(true);
    expect(answered(refused, 4)).toEqual(['refused']);
    expect(answered(good, 5)).toEqual(['seen']);
    expect(reach.excuses()).toBe(false);
  });

  test('and none of them is a usable answer', async () => {
    answered(unknown, 1, 2);
    elapsed = SECOND;
    answered(unknown, 3);
    expect(await report()).toMatchObject({ success: 0 });
  });

  test('at once where no replica ever read a purchase, until this one does', async () => {
    condition.isKnown = false;
    await report();
    const never = purchase(1, { seenAt: null });
    expect(reach.answered(malformed, never).kind).toBe('unreachable');
    answered(good, 2);
    expect(reach.answered(malformed, never).kind).toBe('malformed');
  });

  test('where another replica found the site blind, until this one reads a purchase', async () => {
    Object.assign(condition, { since: START, reason: 'malformed' });
    expect([reach.excuses(), ...answered(malformed, 1)]).toEqual([false, 'malformed']);
    await report();
    expect([reach.excuses(), ...answered(malformed, 1)]).toEqual([true, 'unreachable']);
    answered(good, 2);
    expect([reach.excuses(), ...answered(malformed, 1)]).toEqual([false, 'malformed']);
    // Found blind by this replica, and by others once its own trouble is over.
    reach.fails('refused', 'no');
    await report();
    answered(unknown, 3);
    expect(reach.excuses()).toBe(true);
    reach.forget();
    expect(reach.excuses()).toBe(false);
  });

  test('but not where another replica found an outage, which this one would notice', async () => {
    Object.assign(condition, { since: START, reason: 'unreachable' });
    await report();
    expect([reach.excuses(), ...answered(malformed, 1)]).toEqual([false, 'malformed']);
  });
});
