/** A purchase whose answers cannot be used, or whose record the database refuses, beside good ones: it is loud, and heals by itself. */
import { afterEach, expect, test } from 'vitest';
import type { FaultSpec } from '../../packages/simulator/src/contract/control.ts';
import { runCommand } from '../cli/run.ts';
import { ALL_PASSES, startTestApp, type TestApp } from '../support/test-app.ts';

const MINUTE = 60_000;
let t: TestApp;
afterEach(() => t.stop());

const said = async (...argv: string[]): Promise<string> =>
  (
    await runCommand(argv, {
      DATABASE_URL: t.database.url,
      CHECKOUT_BASE_URL: t.simulator.url,
      CHECKOUT_CLIENT_ID: 'i',
      CHECKOUT_CLIENT_SECRET: 's',
    })
  ).stdout;
const slackTexts = (): string[] => t.slack.received.map((message) => JSON.stringify(message));
const typesOf = (purchase: string): string[] => t.eventsOf(purchase).map(({ type }) => type);
const live = (minutes: number): Promise<void> => t.liveInSteps(minutes * MINUTE, { passes: ALL_PASSES, step: 20_000 });

const KINDS: readonly (readonly [fault: FaultSpec, reason: string, codes: readonly string[]])[] = [
  [{ kind: 'string-state' }, 'wrong_shape', []],
  [{ kind: 'string-amount' }, 'wrong_shape', []],
  [{ kind: 'utf-16' }, 'not_utf8', []],
  [{ kind: 'invalid-utf8' }, 'not_utf8', []],
  [{ kind: '400', code: 'PURCHASE_LOCKED', message: 'Kalle Anka, 0701234567' }, 'http_400', ['PURCHASE_LOCKED']],
  [{ kind: '409', code: 1_204 }, 'http_409', ['1204']],
  [{ kind: '422', code: 'Kalle Anka' }, 'http_422', []],
  [{ kind: 'error-list', code: 'E7' }, 'error_list', ['E7']],
  [{ kind: '500', code: 'INTERNAL' }, 'http_500', ['INTERNAL']],
  [{ kind: '404', code: 'NOT_FOUND' }, 'http_404', ['NOT_FOUND']],
];

test.each(KINDS)(
  '%j',
  async (fault, reason, codes) => {
    t = await startTestApp({ stuck: 'auto' });
    const others = await Promise.all([1, 2, 3].map(() => t.watch({ script: [{ state: 'New' }] })));
    const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '40m' }] });
    await live(1);
    t.simulator.control.fail({ ...fault, purchaseId: purchase, only: 'status', for: '20m' });
    await live(4);
    expect(await t.rowOf(purchase)).toMatchObject({ status: 'watching', state: 0 });
    expect(slackTexts()).toEqual([]);
    await live(12);
    const asked = t.simulator.control.callsOf(purchase);
    // Asked for as often as its neighbours, which answer well.
    expect(asked).toBeGreaterThanOrEqual(t.simulator.control.callsOf(others[0]!) - 2);
    expect(await t.rowOf(purchase)).toMatchObject({ status: 'unreadable', state: 0 });
    const [event] = t.eventsOf(purchase).filter(({ type }) => type === 'purchase.unreadable');
    expect(event!.data).toMatchObject({ reason, codes, state: { name: 'New' } });
    const why = await said('why', purchase);
    const status = await said('status');
    for (const code of codes) expect(why).toContain(code);
    expect(why).toContain('could not be read for');
    expect(why).not.toContain('does not know this id (');
    expect(status).toContain(purchase);
    expect(slackTexts()).toHaveLength(1);
    expect(slackTexts()[0]).toContain('1 purchase cannot be read');
    expect([why, status, ...slackTexts(), ...t.log].join('\n')).not.toMatch(/Kalle|0701234567/);
    const [line] = t.log.filter((each) => each.includes('"event":"purchase.unreadable"'));
    expect(JSON.parse(line!)).toMatchObject({ purchaseId: purchase, reason, codes });
    expect(typesOf(others[0]!)).toEqual(['purchase.state_changed']);

    await live(14);
    expect(await t.rowOf(purchase)).toMatchObject({ status: 'watching', failures: 0 });
    expect(typesOf(purchase)).toEqual(['purchase.state_changed', 'purchase.unreadable', 'purchase.readable']);
    expect(slackTexts()).toHaveLength(2);
    expect(slackTexts()[1]).toContain('can be read again');
    expect(await said('why', purchase)).toContain('All is well');
  },
  120_000,
);

test('answers that were odd from the first one on are loud, too', async () => {
  t = await startTestApp({ stuck: 'auto' });
  await Promise.all([1, 2, 3].map(() => t.watch({ script: [{ state: 'New' }] })));
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  t.simulator.control.fail({ kind: 'string-state', purchaseId: purchase, only: 'status', for: '1h' });
  await live(8);
  expect(typesOf(purchase)).toEqual(['purchase.unreadable']);
  expect(slackTexts()).toHaveLength(1);
});

test('an id that the service says not to know is no alarm, and what it says in passing is no unknown id', async () => {
  t = await startTestApp({ stuck: 'auto' });
  await Promise.all([1, 2, 3].map(() => t.watch({ script: [{ state: 'New' }] })));
  const purchase = await t.watch({ script: [{ state: 'New' }] });
  await live(1);
  t.simulator.control.fail({ kind: '404', code: 'NOT_FOUND', purchaseId: purchase, only: 'status', times: 8 });
  await live(3);
  expect(await t.rowOf(purchase)).toMatchObject({ status: 'watching', failures: 0 });
  expect(typesOf(purchase)).toEqual(['purchase.state_changed']);
  await t.app.sql`insert into purchase_watch.purchases (purchase_id) values ('mistyped')`;
  await live(8);
  const [row] = await t.app.sql`select status from purchase_watch.purchases where purchase_id = 'mistyped'`;
  expect(row).toEqual({ status: 'unreadable' });
  expect(slackTexts()).toEqual([]);
  expect(await said('why', 'mistyped')).toMatch(/does not know this id \(\d such answers\)/);
});

test.each([
  [
    'a constraint',
    (id: number) =>
      `alter table purchase_watch_internal.purchase_transitions add constraint mine check (purchase <> ${id} or to_state <> 2)`,
    'constraint mine',
  ],
  [
    'a trigger',
    (
      id: number,
    ) => `create function mine() returns trigger language plpgsql as $$ begin if new.purchase = ${id} then raise exception 'Kalle Anka'; end if; return new; end $$;
      create trigger mine before insert on purchase_watch_internal.purchase_transitions for each row execute function mine()`,
    'error P0001',
  ],
])(
  'a record that %s refuses is loud, and heals',
  async (_, refusal, named) => {
    t = await startTestApp({ stuck: 'auto' });
    const other = await t.watch({ script: [{ state: 'New' }] });
    const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Completed', after: '2m' }] });
    await live(1);
    const { id } = await t.rowOf(purchase);
    await t.app.sql.unsafe(refusal(id));
    await live(12);
    expect(typesOf(purchase)).toContain('purchase.unreadable');
    const why = await said('why', purchase);
    expect(why).toContain(named);
    expect(why).toContain('the database refuses to record it');
    expect(why).not.toMatch(/Kalle|late by|does not know/);
    expect(slackTexts()).toHaveLength(1);
    expect(slackTexts()[0]).toContain(named);
    expect(t.changesOf(other)).toEqual(['New']);
    await t.app.sql.unsafe(
      'alter table purchase_watch_internal.purchase_transitions drop constraint if exists mine; drop trigger if exists mine on purchase_watch_internal.purchase_transitions',
    );
    await live(12);
    expect(t.changesOf(purchase)).toEqual(['New', 'Completed']);
    expect(typesOf(purchase)).toContain('purchase.readable');
    expect(await t.rowOf(purchase)).toMatchObject({ status: 'settled', failures: 0 });
  },
  120_000,
);
