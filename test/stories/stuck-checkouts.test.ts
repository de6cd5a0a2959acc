/** Single stuck checkouts: whom they alert, with what, and when incidents take over. */
import { afterEach, expect, test } from 'vitest';
import type { Settings } from '../../src/config/settings.ts';
import type { StuckMode } from '../../src/domain/incidents/audience.ts';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { onDatabase } from '../cli/command.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

const MINUTE = 60_000;
const CARD = 6;
const STUCK = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }];

/** A checkout is stuck after a minute here, so that the tests are quick. */
const start = async (stuck: StuckMode = 'auto', change: (settings: Settings) => void = () => undefined): Promise<void> => {
  t = await startTestApp({
    stuck,
    change: (settings) => {
      const states = new Map(settings.policy.states);
      states.set(CARD, { ...states.get(CARD)!, stuckAfter: MINUTE });
      settings.policy = { ...settings.policy, states };
      change(settings);
    },
  });
};
const watch = (reference?: string): Promise<string> =>
  t.watch({ script: STUCK, price: '1249.50', currency: 'SEK' }, reference === undefined ? {} : { reference });
const texts = (): string[] => t.slack.received.map(({ text }) => text);
/** So many customers got on in the state on each of the last days. */
const customersBefore = async (perDay: number, days = 10): Promise<void> => {
  await t.app.sql`
    insert into purchase_watch_internal.stay_days (site, state, day, calm, well, overdue)
    select 'default', ${CARD}, (now() at time zone 'UTC')::date - d, true, ${perDay}, 0 from generate_series(1, ${days}) d`;
};

test('a shop with five purchases a day: its only customer is stuck, and later gets on', async () => {
  await start();
  await customersBefore(5);
  const id = await watch('ORD-7');
  await t.live(MINUTE);
  expect(texts()).toEqual([]);
  await t.live(MINUTE);
  const [stuck] = texts();
  expect(texts()).toHaveLength(1);
  expect(t.slack.received[0]!.problem).toBeNull();
  expect(stuck!.split('\n')[0]).toMatch(
    /^🟠 default: 1 checkout stuck waiting for the card provider for 1 min.*, 1 249\.50 SEK$/,
  );
  for (const part of [
    id,
    'Order: `',
    'Possible cause: The page cannot render itself again',
    'What to do',
    'because only 51 stays are counted',
    `purchase-watch why ${id}`,
  ])
    expect(stuck).toContain(part);
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(1);
  t.simulator.control.setState(id, 'Completed');
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(2);
  expect(texts()[1]!.split('\n')[0]).toMatch(
    /^✅ default: the stuck checkout got on \(completed\) after \d+ min.*, 1 249\.50 SEK$/,
  );
  expect(texts()[1]).toContain(id);
  await t.live(5 * MINUTE);
  expect(texts()).toHaveLength(2);
  // The merchant's own systems get what they always got.
  expect(t.eventsOf(id).map(({ type }) => type)).toEqual([
    ...['purchase.state_changed', 'purchase.state_changed', 'purchase.stuck'],
    ...['purchase.state_changed', 'purchase.recovered'],
  ]);
});

test('what becomes stuck within groupWait is one message, and who leaves is named with those who get on', async () => {
  await start();
  const ids = [await watch('A'), await watch('B'), await watch('C')];
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(1);
  expect(texts()[0]).toContain('3 checkouts stuck');
  for (const id of ids) expect(texts()[0]).toContain(id);
  t.simulator.control.setState(ids[0]!, 'Completed');
  t.simulator.control.setState(ids[1]!, 'SessionTimedOut');
  await t.live(3 * MINUTE);
  expect(texts()).toHaveLength(2);
  expect(texts()[1]).toContain('2 stuck checkouts are over, 1 got on, 1 did not');
  expect(texts()[1]).toContain('left (timed out)');
  expect(texts()[1]).not.toContain(ids[2]);
});

test('a customer who gets on before groupWait is over alerts nobody', async () => {
  await start();
  const id = await watch();
  await expect
    .poll(
      async () => {
        await t.live(5_000);
        return t.eventsOf(id).map(({ type }) => type);
      },
      { interval: 1 },
    )
    .toContain('purchase.stuck');
  t.simulator.control.setState(id, 'Completed');
  await t.live(3 * MINUTE);
  expect(texts()).toEqual([]);
  expect(await t.app.sql`select id from purchase_watch_internal.stuck_alerts`).toEqual([]);
});

test('a page of a small shop that breaks: single checkouts first, then the incident alone', async () => {
  await start();
  await customersBefore(2);
  await t.app.sql`
    insert into purchase_watch_internal.detections (site, state, memory) values ('default', ${CARD},
      ${JSON.stringify({
        ...{ site: 'default', state: CARD, countedFrom: t.clock.now() - 10 * 86_400_000, score: 0, run: null, row: null },
        ...{ lastWellAt: null, alarm: null, wellSince: [], lately: [], noneOverdueSince: null },
        exits: { well: 0, timedOut: 0, other: 0, timedOutAfter: [] },
      })})`;
  const first = await watch();
  await t.live(2 * MINUTE);
  expect(texts().map((text) => text.split('\n')[0])).toEqual([expect.stringContaining('1 checkout stuck')]);
  const second = await watch();
  await t.live(3 * MINUTE);
  expect(texts()).toHaveLength(2);
  expect(texts()[1]).toContain('2 customers stuck');
  expect(texts()[1]).toContain('They alert nobody here until this is over');
  // Nothing of single checkouts while it is open, neither a third one nor the end of the first.
  await watch();
  t.simulator.control.setState(first, 'Completed');
  await t.live(3 * MINUTE);
  expect(
    texts()
      .slice(2)
      .every((text) => text.includes('customers stuck')),
  ).toBe(true);
  t.simulator.control.setState(second, 'Completed');
});

test('as soon as the share can be judged incidents take over, and the last single alert says so', async () => {
  await start();
  await customersBefore(5);
  await watch();
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(1);
  await t.app.sql`update purchase_watch_internal.stay_days set well = 40`;
  await watch();
  await t.live(3 * MINUTE);
  expect(texts()).toHaveLength(2);
  expect(texts()[1]).toMatch(/From now on incidents take over here: 4\d\d stays are counted and about \d\d customers a day come/);
  await watch();
  await t.live(3 * MINUTE);
  expect(texts()).toHaveLength(2);
});

test('where the first news after that is an incident, the incident says that it takes over', async () => {
  await start();
  await customersBefore(5);
  const id = await watch();
  await t.live(2 * MINUTE);
  t.simulator.control.setState(id, 'Completed');
  await t.live(5 * MINUTE);
  expect(texts()).toHaveLength(2);
  await t.app.sql`update purchase_watch_internal.stay_days set well = 40`;
  for (let customer = 0; customer < 5; customer++) await watch();
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(3);
  expect(texts()[2]).toContain('5 customers stuck');
  expect(texts()[2]).toContain('From now on incidents take over');
});

test('where the share was known from the beginning, a single checkout alerts nobody', async () => {
  await start();
  await customersBefore(40);
  await watch();
  await t.live(4 * MINUTE);
  expect(texts()).toEqual([]);
});

test('each: every checkout, also where the share is known and beside an incident, though in fewer messages', async () => {
  await start('each');
  await customersBefore(40);
  await watch();
  await t.live(2 * MINUTE);
  expect(texts().map((text) => text.split('\n')[0])).toEqual([expect.stringContaining('1 checkout stuck')]);
  expect(texts()[0]).toContain('slack.stuck: each');
  const ids = [];
  for (let customer = 0; customer < 5; customer++) ids.push(await watch());
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(2);
  expect(texts()[1]).toContain('customers stuck');
  expect(texts()[1]).not.toContain('Single checkouts');
  await t.live(5 * MINUTE);
  expect(texts()).toHaveLength(3);
  expect(texts()[2]).toContain('5 checkouts stuck');
  for (const id of ids) expect(texts()[2]).toContain(id);
});

test('incidents: a single checkout alerts nobody', async () => {
  await start('incidents');
  await watch();
  await t.live(4 * MINUTE);
  expect(texts()).toEqual([]);
  expect(await t.app.sql`select id from purchase_watch_internal.stuck_alerts`).toEqual([]);
});

test('each channel has its own mode', async () => {
  const { startSlackStandIn } = await import('../support/slack-stand-in.ts');
  const ops = await startSlackStandIn();
  try {
    await start('auto', (settings) => {
      const [first] = settings.channels;
      settings.channels = [
        { ...first!, stuck: 'incidents' },
        { ...first!, name: 'ops', webhookUrl: ops.url, stuck: 'auto' },
      ];
    });
    await watch();
    await t.live(2 * MINUTE);
    expect(texts()).toEqual([]);
    expect(ops.received.map(({ text }) => text.split('\n')[0])).toEqual([expect.stringContaining('1 checkout stuck')]);
    // Four in a row are an incident for both.
    for (let customer = 0; customer < 4; customer++) await watch();
    await t.live(2 * MINUTE);
    expect(texts()).toHaveLength(1);
    expect(ops.received).toHaveLength(2);
  } finally {
    await ops.stop();
  }
});

test('two daemons and a restart alert of a checkout once, and once that it is over', async () => {
  await start();
  const id = await watch();
  await t.live(45_000);
  const second = await t.another();
  const look = async (times: number): Promise<void> => {
    for (let pass = 0; pass < times; pass++) {
      t.clock.advance('10s');
      for (const app of [t.app, second]) {
        await app.pollOnce();
        await Promise.all([t.app.judgeOnce(), second.judgeOnce()]);
        await app.deliverOnce();
      }
    }
  };
  await look(15);
  expect(texts()).toHaveLength(1);
  t.simulator.control.setState(id, 'Completed');
  await t.app.stop();
  const third = await t.another();
  for (let pass = 0; pass < 30; pass++) {
    t.clock.advance('10s');
    for (const app of [third, second]) {
      await app.pollOnce();
      await app.judgeOnce();
      await app.deliverOnce();
    }
  }
  expect(texts().map((text) => text.split('\n')[0])).toEqual([
    expect.stringContaining('1 checkout stuck'),
    expect.stringContaining('got on (completed)'),
  ]);
});

test('a silence holds single checkouts back; who is still stuck at its end is told then', async () => {
  await start();
  const [gone, stays] = [await watch(), await watch()];
  await t.app.sql`
    insert into purchase_watch_internal.silences (kind, site, state, reason, created_by, starts_at, ends_at)
    values ('stuck', 'default', ${CARD}, 'a test', 'a test', now() - interval '1 minute', to_timestamp(${t.clock.now() + 5 * MINUTE}::float8 / 1000))`;
  await t.live(4 * MINUTE);
  expect(texts()).toEqual([]);
  t.simulator.control.setState(gone, 'Completed');
  await t.live(3 * MINUTE);
  expect(texts()).toHaveLength(1);
  expect(texts()[0]).toContain(stays);
  expect(texts()[0]).not.toContain(gone);
});

test('a purchase whose watch is stopped, or whose order another one paid, is over', async () => {
  await start();
  const [stopped, paid] = [await watch('A'), await watch('B')];
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(1);
  const { stopPurchase } = await import('../../src/postgres/purchases/purchases.ts');
  await stopPurchase(t.app.sql, await t.rowOf(stopped));
  await t.watch({ script: [{ state: 'Completed' }] }, { reference: 'B' });
  await t.live(MINUTE);
  t.simulator.control.setState(paid, 'SessionTimedOut');
  await t.live(5 * MINUTE);
  const rest = texts().slice(1).join('\n');
  expect(rest).toContain('it was stopped by hand');
  expect(rest).toContain('its order was paid by another purchase');
});

test('a few who were there before us alert by themselves, and no first look repeats them', async () => {
  await start();
  const id = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  await t.live(9 * MINUTE);
  expect(texts()).toHaveLength(1);
  expect(texts()[0]).toContain(id);
});

test('six who were waiting already at a new site are one message once a poll confirms the limit, marked as found late', async () => {
  await start();
  const there = [{ state: 'WaitingForCardPayments' }];
  const ids: string[] = [];
  for (let customer = 0; customer < 6; customer++) ids.push(await t.watch({ script: there }));
  // Others were there, too, and get on as customers do.
  for (let customer = 0; customer < 30; customer++) await t.watch({ script: [...there, { state: 'Completed', after: '40s' }] });
  await t.live(50_000);
  expect(texts()).toEqual([]);
  // The limit of a minute counts from the first answers; `groupWait` gathers those that are confirmed.
  await t.live(45_000);
  expect(texts()).toHaveLength(1);
  expect(texts()[0]!.split('\n')[0]).toMatch(
    /^🟠 default: 6 checkouts stuck waiting for the card provider, the oldest for at least 1 min/,
  );
  for (const id of ids) expect(texts()[0]).toContain(id);
  expect(texts()[0]).toContain(
    'These customers were waiting already at the first poll of their purchases, which came with the first load of their site.',
  );
  const [{ body }] = await t.app.sql<[{ body: string }]>`
    select body from purchase_watch_internal.events where type = 'incident.checkouts'`;
  expect(JSON.parse(body).data.stuck.map(({ foundLate }: { foundLate: boolean }) => foundLate)).toEqual(Array(6).fill(true));
  const { stdout } = await onDatabase(t.database, ['why', ids[0]!]);
  expect(stdout).toContain('found late');
  await t.live(9 * MINUTE);
  expect(texts()).toHaveLength(1);
  // Who comes later is not marked.
  const later = await watch();
  await t.live(3 * MINUTE);
  expect(texts()[1]).toContain(later);
  expect(texts()[1]).not.toMatch(/found late|at least/i);
});

test('who comes in the first minutes of a new site is a customer of now: not found late, and an incident opens for many', async () => {
  await start();
  await t.watch({ script: [{ state: 'Completed' }] });
  await t.live(20_000);
  // The clock of these tests is ahead of the database's, which notes when a purchase is registered.
  const customers = async (count: number): Promise<void> => {
    for (let customer = 0; customer < count; customer++) {
      const id = await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
      await t.app
        .sql`update purchase_watch.purchases set registered_at = to_timestamp(${t.clock.now() / 1_000}::float8) where purchase_id = ${id}`;
    }
  };
  await customers(3);
  await t.live(2 * MINUTE);
  expect(texts()).toHaveLength(1);
  expect(texts()[0]).toMatch(/3 checkouts stuck waiting for the card provider, the oldest for \d/);
  expect(texts()[0]).not.toMatch(/found late|at least/i);
  await customers(25);
  await t.live(6 * MINUTE);
  expect(texts().join()).toContain('28 customers stuck');
  expect(texts().join()).not.toContain('First look');
});

test('a file that is registered in the first minutes belongs to the first load', async () => {
  await start();
  await t.watch({ script: [{ state: 'Completed' }] });
  await t.live(20_000);
  const ids = Array.from(
    { length: 60 },
    () => t.simulator.control.add({ script: [{ state: 'WaitingForCardPayments' }] }).purchaseId,
  );
  await register(
    t.app.sql,
    ids.map((purchaseId) => ({ purchaseId, site: null, reference: null, metadata: null })),
  );
  t.clock.catchUp();
  await t.live(9 * MINUTE);
  expect(texts().map((text) => text.split('\n')[0])).toEqual([expect.stringMatching(/First look.*60/)]);
});

test('no time before the first answer makes a customer stuck, however long ago the purchase was registered', async () => {
  await start();
  const id = await t.watch({ script: [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '179m' }] });
  t.clock.advance('180m');
  await t.live(50_000);
  expect(texts()).toEqual([]);
  t.simulator.control.setState(id, 'Completed');
  await t.live(10 * MINUTE);
  expect(texts()).toEqual([]);
});

test('a backlog of many is one message, the first look', async () => {
  await start();
  for (let customer = 0; customer < 25; customer++) await t.watch({ script: [{ state: 'WaitingForCardPayments' }] });
  const [id] = [...t.simulator.control.list()].map(({ purchaseId }) => purchaseId);
  await expect
    .poll(
      async () => {
        await t.live(5_000);
        return (await onDatabase(t.database, ['why', id!])).stdout;
      },
      { interval: 1 },
    )
    .toMatch(
      /Stuck waiting for the card provider for .*; the first look at site default alerts people of it, at \d\d:\d\d:\d\dZ at the latest\./,
    );
  expect(texts()).toEqual([]);
  // The limit is a minute, and all were polled in the same moment: so is the first look within `groupWait`.
  await t.live(30_000);
  expect(texts().map((text) => text.split('\n')[0])).toEqual([expect.stringMatching(/First look.*25/)]);
  expect((await onDatabase(t.database, ['why', id!])).stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /the first look at site default alerted people of it .* ago/,
  );
  await t.live(20 * MINUTE);
  expect(texts()).toHaveLength(1);
});

test('many stay within the channel’s messages of the hour, and every one is named', async () => {
  await start('each', (settings) => {
    settings.channels = settings.channels.map((each) => ({ ...each, maxPerHour: 3 }));
  });
  await customersBefore(400);
  const ids: string[] = [];
  for (let customer = 0; customer < 3; customer++) {
    ids.push(await watch());
    await t.live(MINUTE);
  }
  await t.live(2 * MINUTE);
  // One message of the hour is left for what is not critical, and that one is the last.
  expect(texts()).toHaveLength(1);
  t.clock.advance('61m');
  for (const pass of [t.app.pollOnce, t.app.judgeOnce, t.app.deliverOnce]) await pass();
  await t.live(MINUTE);
  expect(texts().length).toBeLessThanOrEqual(3);
  const all = texts().join('\n');
  for (const id of ids) expect(all).toContain(id);
});
