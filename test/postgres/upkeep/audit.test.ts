import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decide } from '../../../src/domain/deciding/decide.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../../src/domain/purchases/purchase.ts';
import type { Queries, Sql } from '../../../src/postgres/connection/database.ts';
import { dueSlot, loadPurchases } from '../../../src/postgres/polling/queue.ts';
import { recordChanged } from '../../../src/postgres/polling/record.ts';
import { syncSites } from '../../../src/postgres/polling/sites.ts';
import { register, stopPurchase } from '../../../src/postgres/purchases/purchases.ts';
import { switchOff, syncSubscribers } from '../../../src/postgres/subscribers/subscribers.ts';
import { type AuditOptions, audit } from '../../../src/postgres/upkeep/audit.ts';
import { AUDIT_CHECKS, type AuditCheck } from '../../../src/postgres/upkeep/audit-checks.ts';
import { answer, trouble } from '../../support/a-purchase.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 20, 9, 15);
const context = { replica: 'me', holdings: Array.from({ length: 64 }, (_, shard) => ({ shard, epoch: 1 })) };
const EVERYTHING = { format: 'standard' as const, types: null, sites: null, states: null };

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
  await syncSites(sql, ['default', 'se']);
});
afterAll(() => database.drop());

beforeEach(async () => {
  await unguarded(async (tx) => {
    await tx`truncate purchase_watch.purchases, purchase_watch_internal.events, purchase_watch_internal.subscribers, purchase_watch_internal.unknown_states cascade`;
    await tx`truncate purchase_watch_internal.purchase_counts, purchase_watch_internal.count_changes`;
  });
  await sql`update purchase_watch_internal.shards set owner = 'me', epoch = 1`;
  await syncSubscribers(sql, [
    { name: 'shop', kind: 'webhook', audience: 'systems', ...EVERYTHING, addressHash: 'a' },
    {
      name: 'ledger',
      kind: 'webhook',
      audience: 'systems',
      ...EVERYTHING,
      types: ['purchase.state_changed', 'site.unknown_state'],
      states: [2, 42],
      addressHash: 'b',
    },
    { name: '@slack', kind: 'slack', audience: 'people', ...EVERYTHING, addressHash: 'c' },
  ]);
  await sql`update purchase_watch_internal.subscribers set matching_since = to_timestamp(0)`;
});

/** Past triggers and constraints, as nothing in the product can. */
async function unguarded(work: (tx: Queries) => Promise<unknown>): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await work(tx);
  });
}

/** A purchase that was polled once a minute and showed these states. */
async function lived(purchaseId: string, states: readonly number[], { site = 'default', from = T } = {}): Promise<Purchase> {
  await register(sql, [{ purchaseId, site, reference: null, metadata: '{"says": "\\"from\\":{\\"value\\":9"}' }]);
  const [row] = await sql<{ id: number }[]>`
    select id::float8 as id from purchase_watch.purchases where purchase_id = ${purchaseId} and site = ${site}`;
  let purchase = (await loadPurchases(sql, [row!.id]))[0]!.purchase;
  for (const [index, state] of states.entries()) purchase = await seen(purchase, answer(state), from + index * MINUTE);
  return purchase;
}

async function seen(purchase: Purchase, observation: ReturnType<typeof answer>, at: number): Promise<Purchase> {
  const outcome = decide(purchase, observation, { askedAt: at, now: at, policy: DEFAULT_POLL_POLICY, spread: 0, strikes: 0 });
  const slot = outcome.nextPollAt === null ? null : dueSlot(outcome.nextPollAt);
  await recordChanged(sql, [{ outcome, askedAt: at, now: at, slot }], context);
  return outcome.purchase;
}

const run = (options: Partial<AuditOptions> = {}) => audit(sql, { site: null, since: null, batch: 2, ...options });
/** Which checks found gaps, with the first gap of each in words. */
async function gaps(options: Partial<AuditOptions> = {}): Promise<Partial<Record<AuditCheck, string>>> {
  const result = await run(options);
  return Object.fromEntries(
    AUDIT_CHECKS.filter((check) => result[check].gaps > 0).map((check) => {
      const { site, purchaseId, sequence, detail } = result[check].first[0]!;
      return [check, [site, purchaseId, sequence, detail].filter((part) => part !== null).join(' ')];
    }),
  );
}

describe('a whole database', () => {
  test('has no gaps, over many batches, whatever happened to its purchases', async () => {
    await lived('paid', [0, 6, 2]);
    await lived('elsewhere', [0, 1], { site: 'se' });
    await lived('strange', [0, 42, 2]);
    await lived('never polled', []);
    let stuck = await lived('stuck', [6]);
    for (let at = T; stuck.stuckSince === null; at += Math.max(5_000, Math.floor((at - T) / 10)))
      stuck = await seen(stuck, answer(6), at);
    const lost = await lived('unreadable', [0]);
    let purchase = lost;
    for (let poll = 1; poll <= 8; poll++)
      purchase = await seen(purchase, trouble('unknown') as ReturnType<typeof answer>, T + poll * MINUTE);
    const stopped = await lived('stopped', [0]);
    await stopPurchase(sql, stopped);
    const subscriber = await sql<{ id: number }[]>`select id from purchase_watch_internal.subscribers where name = 'shop'`;
    await switchOff(sql, { subscriber: subscriber[0]!.id, reason: 'gone', addressHash: 'a' });
    await sql`update purchase_watch_internal.subscribers set matching_since = to_timestamp(0)`;
    await lived('while off', [0, 2]);

    const result = await run();
    expect(Object.fromEntries(AUDIT_CHECKS.map((check) => [check, result[check].gaps]))).toEqual(
      Object.fromEntries(AUDIT_CHECKS.map((check) => [check, 0])),
    );
    // Counted by hand: 3 + 2 + 3 + 0 + 1 + 1 + 1 + 2 changes; shop wants these and stuck and unreadable, ledger what completes.
    expect(result.transitions.checked).toBe(13);
    expect(result.announcements.checked).toBe(13);
    expect(result.sequences.checked).toBe(8);
    expect(result.chains.checked).toBe(8);
    expect(result.deliveries.checked).toBe(13 + 2 + 4);
    expect(result.site_events.checked).toBe(1);
    const [{ count }] = await sql<[{ count: number }]>`select count(*)::float8 as count from purchase_watch_internal.deliveries`;
    expect(result.orphans.checked).toBe(count);
    expect(result.counters.checked).toBeGreaterThan(4);
  });

  test('tells how far it is, and reads the same in one batch', async () => {
    for (const id of ['a', 'b', 'c']) await lived(id, [0, 2]);
    const said: [string, number][] = [];
    const inBatches = await run({ onProgress: (...step) => said.push(step) });
    expect(said.filter(([kind]) => kind === 'purchases')).toEqual([
      ['purchases', 2],
      ['purchases', 3],
    ]);
    expect(await run({ batch: 1_000 })).toEqual(inBatches);
  });

  test('that is empty is whole', async () => expect(await gaps()).toEqual({}));
});

describe('what is broken is found:', () => {
  let purchase: Purchase;
  beforeEach(async () => {
    await lived('fine', [0, 2]);
    purchase = await lived('p-1', [0, 6, 2]);
    await lived('fine too', [0, 2], { site: 'se' });
    expect(await gaps()).toEqual({});
  });

  test('a change without its event', async () => {
    await unguarded((tx) => tx`delete from purchase_watch_internal.events where purchase = ${purchase.id} and sequence = 2`);
    expect(await gaps()).toEqual({
      transitions: 'default p-1 2 New → WaitingForCardPayments has no event',
      sequences: 'default p-1 counts 3 events and has 2, numbered from 1 to 3',
      orphans: expect.stringMatching(/^delivery \d+ of an event \(position \d+\) that is not there$/),
    });
  });

  test('an event that says something else than its change', async () => {
    await sql`update purchase_watch_internal.events set body = replace(body, '"to":{"value":6', '"to":{"value":7') where purchase = ${purchase.id} and sequence = 2`;
    expect(await gaps()).toEqual({
      transitions: 'default p-1 2 New → WaitingForCardPayments has an event that says something else',
    });
  });

  test.each([
    ['where it came from', '"from":{"value":0', '"from":{"value":1'],
    ['which event it is', '"id":"evt_', '"id":"evt-'],
    ['which number it has', '"sequence":2', '"sequence":3'],
  ])('an event that lies about %s', async (_, was, is) => {
    await sql`update purchase_watch_internal.events set body = replace(body, ${was}, ${is}) where purchase = ${purchase.id} and sequence = 2`;
    expect(Object.keys(await gaps())).toEqual(['transitions']);
  });

  test('an announcement of a change that never was', async () => {
    await unguarded(
      (tx) => tx`delete from purchase_watch_internal.purchase_transitions where purchase = ${purchase.id} and sequence = 3`,
    );
    expect(await gaps()).toEqual({
      announcements: 'default p-1 3 a change was announced that is not among the transitions',
      chains: 'default p-1 2 is the last and ends in WaitingForCardPayments, and the purchase is in Completed',
    });
  });

  test('an event of another type in the place of a change', async () => {
    await sql`update purchase_watch_internal.events set type = 'purchase.stuck' where purchase = ${purchase.id} and sequence = 1`;
    expect((await gaps()).transitions).toBe('default p-1 1 nothing → New has an event of another type, purchase.stuck');
  });

  test('a purchase that counts more events than there are', async () => {
    await sql`update purchase_watch.purchases set sequence = 4 where id = ${purchase.id}`;
    expect(await gaps()).toEqual({ sequences: 'default p-1 counts 4 events and has 3, numbered from 1 to 3' });
  });

  test('a change that does not begin where the one before ended', async () => {
    await unguarded(
      (tx) =>
        tx`update purchase_watch_internal.purchase_transitions set from_state = 4 where purchase = ${purchase.id} and sequence = 3`,
    );
    expect((await gaps()).chains).toBe(
      'default p-1 3 begins in WaitingForIdentityProvider, and the one before ended in WaitingForCardPayments',
    );
  });

  test('a purchase in a state that no change brought it to', async () => {
    await sql`insert into purchase_watch.purchases (purchase_id, site, state, state_since) values ('p-2', 'se', 6, now())`;
    expect(await gaps()).toEqual({ chains: 'se p-2 is in WaitingForCardPayments and has no transitions' });
  });

  test('an event that a subscriber wants and that has no delivery', async () => {
    await sql`delete from purchase_watch_internal.deliveries d using purchase_watch_internal.events e, purchase_watch_internal.subscribers s
      where e.position = d.event and s.id = d.subscriber and e.purchase = ${purchase.id} and e.sequence = 3 and s.name = 'ledger'`;
    expect(await gaps()).toEqual({ deliveries: 'default p-1 3 purchase.state_changed has no delivery for ledger' });
    // What was made before the filters were set was matched against others.
    await sql`update purchase_watch_internal.subscribers set matching_since = to_timestamp(${(T + 90_000) / 1_000}) where name = 'ledger'`;
    expect(await gaps()).toEqual({});
    await sql`update purchase_watch_internal.subscribers set configured = false, matching_since = to_timestamp(0) where name = 'ledger'`;
    expect(await gaps()).toEqual({});
  });

  test('an event that a subscriber would get twice', async () => {
    await unguarded(async (tx) => {
      await tx`alter table purchase_watch_internal.deliveries drop constraint deliveries_event_subscriber_key`;
      await tx`insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at, status)
        select d.event, d.lane, d.subscriber, d.shard, d.due_at, d.status from purchase_watch_internal.deliveries d
        join purchase_watch_internal.events e on e.position = d.event join purchase_watch_internal.subscribers s on s.id = d.subscriber
        where e.purchase = ${purchase.id} and e.sequence = 1 and s.name = 'shop'`;
    });
    expect(await gaps()).toEqual({ deliveries: 'default p-1 1 purchase.state_changed has 2 deliveries for shop' });
    await sql`delete from purchase_watch_internal.deliveries`;
    await sql`alter table purchase_watch_internal.deliveries add constraint deliveries_event_subscriber_key unique (event, subscriber)`;
  });

  test('an event of a site that has no delivery', async () => {
    await lived('strange', [42]);
    expect(await gaps()).toEqual({});
    await sql`delete from purchase_watch_internal.deliveries where lane = 0 and subscriber = (select id from purchase_watch_internal.subscribers where name = 'shop')`;
    expect(await gaps()).toEqual({ site_events: 'default site.unknown_state has no delivery for shop' });
  });

  test('rows of a purchase that is gone, be it the last', async () => {
    const last = await lived('last', [0]);
    await unguarded(async (tx) => {
      await tx`delete from purchase_watch.purchases where id = ${last.id}`;
      // Past the trigger that counts, too.
      await tx`delete from purchase_watch_internal.count_changes`;
      await tx`delete from purchase_watch_internal.purchase_counts`;
      await tx`insert into purchase_watch_internal.purchase_counts (count, state, stuck, status, site)
        select count(*), state, stuck_since is not null, status, site from purchase_watch.purchases group by 2, 3, 4, 5`;
    });
    const { orphans, ...others } = await run();
    expect(orphans.gaps).toBe(2);
    expect(orphans.first.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^event evt_\w+ of the purchase in row \d+, which is not there$/),
      expect.stringMatching(/^a transition of the purchase in row \d+, which is not there$/),
    ]);
    expect(Object.values(others).map((check) => check.gaps)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  test('a counter that does not say how many there are', async () => {
    await sql`insert into purchase_watch_internal.count_changes (change, state, stuck, status, site) values (1, 2, false, 'settled', 'se')`;
    expect(await gaps()).toEqual({ counters: 'se settled, Completed: the counter says 2 and there are 1' });
    // What the page says to do then does it.
    const page = readFileSync(join(import.meta.dirname, '../../../docs/troubleshooting.md'), 'utf8');
    const [, repair] = /```sql\n([\s\S]*?)```/.exec(page)!;
    await sql.begin((tx) => tx.unsafe(repair!.replace(/^(begin|commit);$/gm, '')));
    expect(await gaps()).toEqual({});
  });

  test('many gaps are counted, and the first ones listed', async () => {
    await sql`update purchase_watch.purchases set sequence = sequence + 1`;
    for (let index = 0; index < 20; index++) await lived(`many-${index}`, [0]);
    await sql`update purchase_watch.purchases set sequence = sequence + 1`;
    const { sequences } = await run({ batch: 7 });
    expect([sequences.gaps, sequences.first.length]).toEqual([23, 20]);
  });

  test('only what was asked about is looked at', async () => {
    await sql`update purchase_watch.purchases set sequence = 9`;
    expect((await run({ site: 'se' })).sequences).toMatchObject({ checked: 1, gaps: 1, first: [{ site: 'se' }] });
    expect((await run()).sequences.gaps).toBe(3);
    await sql`update purchase_watch.purchases set registered_at = to_timestamp(0)`;
    // The last change of p-1 came a minute after those of the others.
    const { sequences, deliveries } = await run({ since: T + 90_000 });
    expect(sequences).toMatchObject({ checked: 1, gaps: 1, first: [{ purchaseId: 'p-1' }] });
    expect(deliveries.checked).toBe(4);
  });
});
