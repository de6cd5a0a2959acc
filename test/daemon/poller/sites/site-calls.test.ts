import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSiteCalls, type SiteCalls } from '../../../../src/daemon/poller/sites/site-calls.ts';
import type { Observation } from '../../../../src/domain/purchases/purchase.ts';
import { listSites, reportSite, syncSites } from '../../../../src/postgres/polling/sites.ts';
import { renewReplica } from '../../../../src/postgres/shards/replicas.ts';
import { createLogger } from '../../../../src/runtime/logger.ts';
import { answer, trouble } from '../../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../../support/database.ts';

const SECOND = 1_000;
const START = Date.UTC(2026, 10, 20, 9, 15);
const good = answer(0);
const bad = trouble('unreachable', { reason: 'http_503' });

let database: TestDatabase;
let siteCalls: SiteCalls;
/** Another one, as another replica has it of the same site. */
let other: SiteCalls;
/** Milliseconds since the test began, for both clocks. */
let elapsed: number;
let log: string[];
/** How often the site's condition was said to have changed. */
let reports: number;
let reported: () => Promise<void>;

beforeEach(async () => {
  database = await testDatabase();
  await syncSites(database.sql, ['se', 'no']);
  for (const id of ['rep_1', 'rep_2']) await renewReplica(database.sql, { id, process: 'test', ttl: 60 * SECOND });
  elapsed = 0;
  log = [];
  reports = 0;
  let wanted = 0;
  let heard = () => {};
  // Reports are sent off; a test waits for the next one it has not waited for.
  reported = async () => {
    wanted += 1;
    while (reports < wanted)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
  };
  const noInvoice = async () => ({ kind: 'not_eligible', state: 2, detail: '' }) as const;
  const calls = { pollStatus: async () => good, pollInvoice: noInvoice, invoice: noInvoice, token: () => null };
  const site = { name: 'se', maxRps: 50, concurrency: 4, timeout: SECOND, invoices: false, ...calls };
  const laneOf = (replica: string): SiteCalls =>
    createSiteCalls(site, {
      sql: database.sql,
      clock: { now: () => START + elapsed, monotonic: () => elapsed, sleep: async () => {} },
      log: createLogger({ level: 'info', destination: { write: (line: string) => log.push(line) } as never }),
      replica,
      spread: () => 0,
      onReported: () => {
        reports += 1;
        heard();
      },
    });
  siteCalls = laneOf('rep_1');
  other = laneOf('rep_2');
});
afterEach(() => database.drop());

/** Whether the last call that left was a probe. */
let probe = false;
const take = (share: number): number => {
  const taken = siteCalls.take(share);
  if (taken.wait === 0) probe = taken.probe;
  return taken.wait;
};
const answered = (seen: Observation, times = 1, of = siteCalls): void => {
  for (let time = 0; time < times; time++)
    of.answered(seen, { purchase: time, probe, asked: { id: time, status: 'watching', failures: 0, seenAt: 1 } });
};
const se = async () => (await listSites(database.sql)).find(({ name }) => name === 'se')!;
const events = () => log.map((line) => (JSON.parse(line) as { event: string }).event);

describe('calls', () => {
  test("are taken from the site's ceiling, by our share of it", () => {
    expect([take(1), take(1)]).toEqual([0, 20]);
    elapsed = 20;
    expect(take(1)).toBe(0);
    elapsed = 40;
    expect([take(0.5), take(0.5)]).toEqual([0, 40]);
  });

  test('without a share are not taken', () => {
    expect(take(0)).toBeGreaterThan(0);
  });

  test('rest while the site fails, then one probe leaves and everything else waits for its answer', () => {
    answered(bad, 5);
    expect(take(1)).toBe(SECOND);
    elapsed = SECOND;
    expect([take(1), take(1)]).toEqual([0, Number.POSITIVE_INFINITY]);
  });

  test('come back slowly, and to the full once the ceiling is reached', () => {
    answered(bad, 5);
    elapsed = SECOND;
    take(1);
    answered(good);
    elapsed += 20;
    expect(take(1)).toBe(0);
    // Two a second at first.
    expect(take(1)).toBeGreaterThan(400);
    elapsed += 5 * SECOND;
    answered(good);
    expect(siteCalls.fails()).toBe(false);
    take(1);
    expect(take(1)).toBe(20);
  });
});

describe('one site', () => {
  const fail = (...purchases: number[]): void => {
    for (const purchase of purchases) siteCalls.answered(bad, { purchase, probe: false });
  };
  const logged = () => log.map((line) => JSON.parse(line) as Record<string, unknown>);

  test('counts the calls that left and those under way, and knows whether the last one was extra', () => {
    expect(siteCalls.seen()).toEqual({ breaker: 'closed', cause: null, since: START, nextProbeAt: null, calls: 0 });
    expect(siteCalls.wasExtra).toBe(false);
    siteCalls.begin(false);
    siteCalls.begin(true);
    siteCalls.end();
    expect([siteCalls.seen().calls, siteCalls.inFlight, siteCalls.wasExtra]).toEqual([2, 1, true]);
  });

  test('lets a call leave as a probe once its pause is over and the ceiling allows it', () => {
    expect(siteCalls.take(1)).toEqual({ wait: 0, probe: false });
    elapsed = 300;
    fail(1, 2, 3, 4, 5);
    elapsed = 800;
    expect(siteCalls.take(1)).toEqual({ wait: 500, probe: false });
    expect(siteCalls.restsFor()).toBe(500);
    elapsed = 1_300;
    expect(siteCalls.take(0)).toEqual({ wait: SECOND, probe: false });
    expect(siteCalls.take(1)).toEqual({ wait: 0, probe: true });
    expect(siteCalls.take(1)).toEqual({ wait: Number.POSITIVE_INFINITY, probe: false });
  });

  test('has purchases asked first that answered well lately: while it is in doubt, and as probes', () => {
    expect(siteCalls.probes()).toEqual([]);
    for (const purchase of [1, 2, 3]) siteCalls.answered(good, { purchase, probe: false });
    fail(11, 12, 13, 14);
    expect(siteCalls.probes()).toEqual([]);
    fail(15);
    expect([siteCalls.fails(), siteCalls.probes()]).toEqual([false, [3, 2, 1]]);
    fail(16, 17);
    expect([siteCalls.fails(), siteCalls.probes()]).toEqual([true, []]);
    elapsed = SECOND;
    expect(siteCalls.probes()).toEqual([3, 2, 1]);
  });

  test('is said to fail once no call under way can show the opposite, and to answer once a probe is answered', () => {
    siteCalls.begin(false);
    fail(1, 2, 3, 4, 5);
    expect([siteCalls.fails(), logged()]).toEqual([true, []]);
    siteCalls.end();
    fail(6);
    const failing = { event: 'site.failing', site: 'se', reason: 'http_503', detail: 'The service answers http_503.' };
    expect(logged()).toMatchObject([failing]);
    // A call that left before the failures.
    siteCalls.answered(good, { purchase: 7, probe: false });
    expect([logged().length, siteCalls.fails()]).toEqual([1, true]);
    elapsed = SECOND;
    siteCalls.take(1);
    siteCalls.answered(good, { purchase: 8, probe: true });
    expect(logged()).toMatchObject([failing, { event: 'site.answers', site: 'se' }]);
  });

  test('is not said to fail when a call that was under way is answered well', () => {
    siteCalls.begin(false);
    fail(1, 2, 3, 4, 5);
    siteCalls.end();
    siteCalls.answered(good, { purchase: 7, probe: false });
    expect([siteCalls.fails(), logged()]).toEqual([false, []]);
  });

  test('whose answers are all nonsense fails for that reason, although they count like no answers', async () => {
    for (elapsed of [0, 60 * SECOND, 120 * SECOND, 180 * SECOND]) answered(trouble('malformed'), 12);
    await reported();
    const [own] = await database.sql`select reason from purchase_watch_internal.site_reach where replica = 'rep_1'`;
    expect([siteCalls.fails(), own!.reason]).toEqual([true, 'malformed']);
  });

  test('that could not be probed for ten minutes begins to fail anew', async () => {
    answered(bad, 5);
    await reported();
    const failingSince = async (error: string) => {
      const own = await database.sql`select failing_since, error from purchase_watch_internal.site_reach where replica = 'rep_1'`;
      return own[0]!.error.includes(error) ? own[0]!.failingSince - START : null;
    };
    elapsed = 601 * SECOND - 1;
    siteCalls.look();
    take(1);
    // While a probe is under way it was not for want of a purchase.
    elapsed = 700 * SECOND;
    siteCalls.look();
    answered(trouble('unreachable', { reason: 'timeout' }));
    await expect.poll(() => failingSince('timeout')).toBe(0);
    elapsed = 702 * SECOND + 600 * SECOND;
    siteCalls.look();
    elapsed += 5 * SECOND;
    take(1);
    answered(trouble('unreachable', { reason: 'http_500' }));
    await expect.poll(() => failingSince('http_500')).toBe(1_302 * SECOND);
  });
});

describe('whether failures are the whole site', () => {
  test('is said from the fifth in a row on, until it answers freely again', () => {
    answered(bad, 4);
    expect(siteCalls.fails()).toBe(false);
    answered(bad);
    expect(siteCalls.fails()).toBe(true);
    elapsed = SECOND;
    take(1);
    answered(good);
    expect(siteCalls.fails()).toBe(true);
  });
});

describe('the database', () => {
  test('hears that the site fails, since when and why, and that it is back', async () => {
    elapsed = 7;
    answered(bad, 5);
    await reported();
    expect(await se()).toMatchObject({ failingSince: START + 7, lastError: 'The service answers http_503.' });
    expect((await listSites(database.sql)).find(({ name }) => name === 'no')).toMatchObject({ failingSince: null });
    elapsed = 2 * SECOND;
    take(1);
    answered(good, 5);
    await reported();
    expect(await se()).toMatchObject({ failingSince: null, lastSuccessAt: START + 2 * SECOND });
  });

  test('does not take one good answer for the end of a failure: calls leave again, and five seconds without a failure are', async () => {
    answered(bad, 5);
    await reported();
    elapsed = SECOND;
    take(1);
    answered(good);
    await expect.poll(async () => (await se()).lastReadAt).toBe(START + SECOND);
    expect(siteCalls.restsFor()).toBe(0);
    for (elapsed of [2 * SECOND, 5 * SECOND]) siteCalls.look();
    expect((await se()).failingSince).toBe(START);
    // A call is on its way, and may show that the site still fails.
    elapsed = 7 * SECOND;
    siteCalls.begin(false);
    siteCalls.look();
    siteCalls.end();
    expect((await se()).failingSince).toBe(START);
    siteCalls.look();
    await reported();
    expect(await se()).toMatchObject({ failingSince: null, lastReadAt: START + SECOND });
  });

  test('believes no replica that the site is well before enough purchases were read there, neither now nor as news of the last minutes', async () => {
    answered(bad);
    elapsed = SECOND;
    answered(good, 1, other);
    answered(bad, 3, other);
    await expect.poll(async () => (await se()).lastReadAt).toBe(START + SECOND);
    elapsed = 2 * SECOND;
    answered(bad, 5);
    await reported();
    expect((await se()).failingSince).toBe(START);
    elapsed = 20 * SECOND;
    other.look();
    answered(good, 1, other);
    await expect.poll(async () => (await se()).lastReadAt).toBe(START + 20 * SECOND);
    expect((await se()).failingSince).toBe(START);
    elapsed = 21 * SECOND;
    answered(good, 12, other);
    await expect.poll(async () => (await se()).failingSince).toBeNull();
    // The first replica still fails: the other one reads well, so it is not the site.
    probe = take(1) === 0;
    answered(trouble('unreachable', { reason: 'timeout' }));
    await expect
      .poll(
        async () => (await database.sql`select error from purchase_watch_internal.site_reach where replica = 'rep_1'`)[0]!.error,
      )
      .toContain('timeout');
    expect((await se()).failingSince).toBeNull();
  });

  test('has polls that failed while the site did made at once when it is back, and no others', async () => {
    await database.sql`
      insert into purchase_watch.purchases (purchase_id, site, failures, last_polled_at, next_poll_at)
      select id, 'se', 5, ${START}::timestamptz + seconds * interval '1 second', ${START + 3_600 * SECOND}::timestamptz
      from (values ('before', -1), ('meanwhile', 1)) polled (id, seconds)`;
    answered(bad, 5);
    await reported();
    elapsed = 2 * SECOND;
    take(1);
    answered(good, 5);
    await reported();
    const rows = await database.sql<{ purchaseId: string; nextPollAt: number }[]>`
      select purchase_id, next_poll_at from purchase_watch.purchases order by id`;
    expect(rows.map(({ purchaseId, nextPollAt }) => [purchaseId, nextPollAt - START])).toEqual([
      ['before', 3_600 * SECOND],
      ['meanwhile', 2 * SECOND],
    ]);
  });

  test('keeps the first moment of the failure through failed probes', async () => {
    answered(bad, 5);
    await reported();
    elapsed = SECOND;
    take(1);
    answered(bad);
    // Only a change of the site's condition is called back: wait for what the probe wrote by its own words.
    answered(trouble('unreachable', { reason: 'timeout' }));
    elapsed = 3 * SECOND;
    take(1);
    answered(trouble('unreachable', { reason: 'timeout' }));
    await expect.poll(async () => (await se()).lastError).toBe('The service answers timeout.');
    expect((await se()).failingSince).toBe(START);
  });

  test('does not hear of a site that only asks for fewer calls', async () => {
    answered(trouble('throttled', { retryAfter: 10 * SECOND }));
    expect(take(1)).toBe(10 * SECOND);
    elapsed = 10 * SECOND;
    take(1);
    answered(good);
    await expect.poll(async () => (await se()).lastSuccessAt).toBe(START + 10 * SECOND);
    expect([(await se()).failingSince, (await se()).lastError, reports]).toEqual([null, null, 0]);
    expect(events()).toEqual(['site.throttled', 'site.answers']);
  });

  test('forgets what another replica, or an earlier life of this one, said of a site that answers', async () => {
    const failing = { since: 1, reason: 'unreachable', error: 'down' } as const;
    const never = { lastReadAt: null, lastReadWellAt: null, lastSuccessAt: null, firstSeenAt: null };
    await reportSite(database.sql, { site: 'se', replica: 'rep_2', at: START, verdict: 'fails', failing, ...never });
    answered(good, 5);
    await expect.poll(async () => (await se()).failingSince).toBeNull();
  });

  test('is told of good answers now and then, not each time', async () => {
    const { sql } = database;
    await sql.unsafe(`create table writes (site text);
      create function note() returns trigger language plpgsql as $$ begin insert into writes values (new.name); return new; end $$;
      create trigger note after update on purchase_watch_internal.sites for each row execute function note()`);
    const successes = async () => (await se()).lastSuccessAt;
    answered(good, 5);
    await expect.poll(successes).toBe(START);
    elapsed = 4 * SECOND;
    answered(good, 100);
    elapsed = 5 * SECOND;
    answered(good);
    await expect.poll(successes).toBe(START + 5 * SECOND);
    // The first one, that enough were read, and the one of five seconds later.
    expect(await sql`select from writes`).toHaveLength(3);
  });

  test('that cannot be written does not stop the calls, and is written again', async () => {
    await database.sql`alter table purchase_watch_internal.sites rename to away`;
    answered(bad, 5);
    await expect.poll(events).toEqual(['site.failing', 'site.report_failed']);
    await database.sql`alter table purchase_watch_internal.away rename to sites`;
    elapsed = SECOND;
    take(1);
    answered(bad);
    await reported();
    expect((await se()).failingSince).toBe(START);
  });
});

test('a log says once that a site fails, and once that it answers', () => {
  answered(bad, 40);
  elapsed = SECOND;
  take(1);
  answered(bad);
  elapsed = 3 * SECOND;
  take(1);
  answered(good, 3);
  expect(events()).toEqual(['site.failing', 'site.answers']);
});
