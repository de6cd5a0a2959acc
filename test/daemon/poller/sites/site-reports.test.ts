/** How reports about a site are written and logged: with stand-ins of the database, the clock and the log. */
import { beforeEach, expect, test } from 'vitest';
import { createSiteReports, type SiteFindings } from '../../../../src/daemon/poller/sites/site-reports.ts';

const START = Date.UTC(2026, 10, 20, 9, 15);
const away = new Error('away');

let reports: ReturnType<typeof createSiteReports>;
let elapsed: number;
/** What was logged, written and called, in order. */
let done: unknown[];
/** The site over all replicas, before and after each report; null: there is no row. */
let conditions: (readonly [since: number | null] | Error | null)[];

beforeEach(() => {
  elapsed = 0;
  done = [];
  conditions = [];
  const sql = Object.assign(
    (strings: readonly string[], ...values: readonly unknown[]) => ({
      // biome-ignore lint/suspicious/noThenProperty: a statement of the driver is sent when it is awaited.
      then: (resolve: (rows: unknown) => void, reject: (error: unknown) => void) => {
        const text = strings.join('');
        if (text.includes('moved')) {
          done.push(['polls brought forward', ...values.filter((value) => value === 'se' || Number(value) >= START)]);
          return resolve([{ moved: 0, examined: 0, last: null }]);
        }
        if (text.includes('site_reach')) done.push('written');
        const condition = conditions.shift();
        if (condition instanceof Error) return reject(condition);
        if (condition === null) return resolve([]);
        const [since = null] = condition ?? [];
        resolve([{ isKnown: true, since, reason: since === null ? null : 'malformed' }]);
      },
    }),
    { unsafe: (text: string) => text },
  );
  const logged = (fields: unknown, event: string) => done.push([event, fields]);
  const options = {
    ...{ sql, clock: { now: () => START + elapsed, monotonic: () => elapsed }, replica: 'rep_1' },
    ...{ log: { warn: logged, info: logged, error: logged }, onReported: () => done.push('said') },
  };
  reports = createSiteReports('se', options as unknown as Parameters<typeof createSiteReports>[1]);
});

const findings = (verdict: SiteFindings['verdict'], failing: SiteFindings['failing'] = null): SiteFindings => ({
  ...{ at: START + elapsed, verdict, failing },
  ...{ lastReadAt: null, lastReadWellAt: null, lastSuccessAt: null, firstSeenAt: null },
});
const blind = findings('fails', { since: START, reason: 'malformed', error: 'Nonsense.' });
const outage = findings('fails', { since: START, reason: 'unreachable', error: 'Down.' });
const [reads, unclear] = [findings('reads'), findings('unclear')];

/** Adds a report, waits until it is written, and answers what that did. */
async function added(report: SiteFindings, ...after: typeof conditions): Promise<unknown[]> {
  done = [];
  conditions = after;
  reports.add(report, report.failing?.error ?? null);
  await new Promise(setImmediate);
  return done;
}
const NOT_READABLE = { site: 'se', reason: 'malformed', since: '2026-11-20T09:15:00.000Z', detail: 'Nonsense.' };

test('a site that cannot be read, and one that can be read again, are logged once', async () => {
  expect(await added(reads)).toEqual(['written']);
  expect(await added(blind)).toEqual([['site.not_readable', NOT_READABLE], 'written']);
  expect(await added(blind)).toEqual(['written']);
  expect(await added(unclear)).toEqual(['written']);
  expect(await added(reads)).toEqual([['site.readable', { site: 'se' }], 'written']);
  expect(await added(reads)).toEqual(['written']);
});

test('an outage is left to the log of the breaker', async () => {
  expect(await added(outage)).toEqual(['written']);
  expect(await added(reads)).toEqual(['written']);
});

test('an outage does not make readable what could not be read', async () => {
  await added(blind);
  expect(await added(outage)).toEqual(['written']);
  expect(await added(reads)).toEqual([['site.readable', { site: 'se' }], 'written']);
});

test('the end of a failure has polls made at once before it is written; that and its begin are said', async () => {
  expect(await added(blind, [null], [START])).toEqual([['site.not_readable', NOT_READABLE], 'written', 'said']);
  expect(await added(blind, [START])).toEqual(['written']);
  expect(await added(unclear, [START])).toEqual(['written']);
  elapsed = 7;
  expect(await added(findings('reads'), [null])).toEqual([
    ['site.readable', { site: 'se' }],
    ['polls brought forward', 'se', START, START + 7, START + 7, START + 7],
    'written',
    'said',
  ]);
  expect(await added(reads, [null])).toEqual(['written']);
});

test('that reports cannot be written is logged once, until one was', async () => {
  const failed = ['site.report_failed', { error: away, site: 'se' }];
  expect(await added(outage, [null], away)).toEqual(['written', failed]);
  expect(reports.verdict()).toBeNull();
  expect(await added(outage, away)).toEqual(['written']);
  expect(await added(outage, [START])).toEqual(['written', 'said']);
  expect(reports.verdict()).toBe('fails');
  expect(await added(outage, away)).toEqual(['written', failed]);
});

test('a failure that could not be written, and that is not found any more, is no news', async () => {
  await added(outage, [null], away);
  expect([reports.isWanted('unclear', null), reports.isWanted('fails', 'Down.')]).toEqual([false, true]);
});

test('a site that this replica reads, and that still fails over all replicas, is reported again once the last report is written', async () => {
  await added(reads, [START], [START]);
  expect(reports.isWanted('reads', null)).toBe(true);
  conditions = [[START]];
  reports.add(reads, null);
  expect(reports.isWanted('reads', null)).toBe(false);
  await new Promise(setImmediate);
  expect(reports.isWanted('reads', null)).toBe(true);
  await added(reads, [null]);
  expect(reports.isWanted('reads', null)).toBe(false);
});

test('where the row of the site or of the replica is gone, nothing is said, and nothing is wrong', async () => {
  expect(await added(outage, null, null)).toEqual(['written']);
  expect([reports.condition(), reports.verdict()]).toEqual([null, 'fails']);
});
