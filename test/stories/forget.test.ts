import { afterEach, expect, test } from 'vitest';
import { countErasable, erase } from '../../src/postgres/purchases/erase.ts';
import { findPurchases, requestPoll } from '../../src/postgres/purchases/purchases.ts';
import { onDatabase } from '../cli/command.ts';
import { aStatePolicy } from '../support/a-purchase.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
afterEach(() => t.stop());

/** Every row of every table, as text. */
async function wholeDatabase(): Promise<string> {
  const { sql } = t.database;
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`;
  const texts = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  return texts.flatMap((rows) => rows.map(({ row }) => String(row))).join('\n');
}

/** As the command does, without the time that it takes to start. */
async function eraseNow(purchaseId: string): Promise<void> {
  const [row] = await findPurchases(t.app.sql, { purchaseId, site: null });
  const counts = await countErasable(t.app.sql, row!);
  expect(await erase(t.app.sql, row!, { by: 'a test', counts, within: 1_000 })).not.toBeNull();
}

const forget = (id: string) => onDatabase(t.database, ['forget', id, '--yes', '--json']);

test('after forget no table names the purchase, its reference or its metadata, and the others are whole', async () => {
  t = await startTestApp();
  const about = (name: string) => ({ reference: `ORD-${name}`, metadata: `{"customer": "cust-${name}"}` });
  const script = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }];
  const stuck = await t.watch({ script }, about('stuck'));
  const other = await t.watch({ script }, about('other'));
  // With these, the page is called broken.
  for (const name of ['third', 'fourth']) await t.watch({ script }, about(name));
  const odd = await t.watch({ script: [{ state: 77 }] }, about('odd'));
  await t.live(20 * 60_000);
  expect(t.eventsOf(stuck).map(({ type }) => type)).toContain('purchase.stuck');
  const before = await wholeDatabase();
  for (const [name, id] of Object.entries({ stuck, odd }))
    for (const trace of [id, `ORD-${name}`, `cust-${name}`]) expect(before).toContain(trace);
  expect(before).toMatch(new RegExp(`incident.opened.*${stuck}`));
  expect(before).toMatch(new RegExp(`site.unknown_state.*${odd}`));

  for (const id of [stuck, odd]) {
    const { exitCode, stdout } = await forget(id);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ erased: true, counts: { mentions: 1, pending: 0 } });
  }
  const after = await wholeDatabase();
  for (const [name, id] of Object.entries({ stuck, odd }))
    for (const trace of [id, `ORD-${name}`, `cust-${name}`]) expect(after).not.toContain(trace);
  for (const trace of [other, 'ORD-other', 'cust-other']) expect(after).toContain(trace);
});

test('what people were alerted of stays as it was, but for the id, the order and the money of the one erased', async () => {
  t = await startTestApp({ stuck: 'each' });
  const script = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }];
  const gone = await t.watch({ script }, { reference: 'ORD-gone', metadata: '{"customer": "cust-gone"}' });
  for (let others = 0; others < 3; others++) await t.watch({ script });
  await t.live(40 * 60_000);
  const told = t.slack.received.length;
  expect(told).toBeGreaterThan(1);
  const [{ id }] = await t.database.sql<[{ id: string }]>`select id from purchase_watch_internal.incidents`;
  const shown = async () => {
    const show = (...args: string[]) => onDatabase(t.database, args).then(({ stdout }) => stdout);
    const incident = await show('incidents', 'show', id);
    const { sent } = JSON.parse(await show('rehearse', '--from', '2h', '--json'));
    const events = await t.database.sql<{ body: string }[]>`
      select body from purchase_watch_internal.events where type like 'incident.%' order by position`;
    return { incident, sent, events: events.map(({ body }) => body) };
  };
  const before = await shown();
  const single = new RegExp(
    `"purchaseId":"${gone}","reference":"ORD-gone","orderReference":"([^"]+)","price":"[^"]+","currency":"[A-Z]+"`,
  );
  const [, order] = single.exec(before.events.join())!;
  expect(before.incident).toContain('@slack');
  await forget(gone);
  const after = await shown();
  const unnamed = (text: string): string =>
    text
      .replace(single, '"purchaseId":"(erased)","reference":null,"orderReference":null,"price":null,"currency":null')
      .replaceAll(gone, '(erased)');
  expect(after.events).toEqual(before.events.map(unnamed));
  // How long ago something was goes on by itself.
  const timeless = (text: string): string => text.replaceAll(/ \(in [^)]*\)/g, '');
  expect(timeless(after.incident)).toBe(timeless(unnamed(before.incident)));
  expect(after.sent).toEqual(before.sent);
  const dump = await wholeDatabase();
  for (const trace of [gone, order!, 'ORD-gone', 'cust-gone']) expect(dump).not.toContain(trace);
  await t.live(5 * 60_000);
  expect(t.slack.received.length).toBe(told);
});

test('a daemon in the middle of polls and deliveries brings nothing back and stumbles over nothing', async () => {
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      settings.webhooks.timeout = 60_000;
    },
  });
  await t.app.start();
  const about = { reference: 'ORD-1', metadata: '{"customer": "cust-1"}' };
  const gone = await t.watch({ script: [{ state: 'New' }] }, about);
  await t.receiver.waitFor(() => t.eventsOf(gone).length === 1);
  // One event is being sent, the next waits in memory behind it.
  const forgotten = Promise.withResolvers<void>();
  t.receiver.respond({ after: forgotten.promise, reset: 'answer' });
  t.simulator.control.setState(gone, 'BeingProcessed');
  await onDatabase(t.database, ['poll', gone]);
  await t.receiver.waitFor(() => t.eventsOf(gone).length === 2);
  t.simulator.control.setState(gone, 'WaitingForEidApp');
  await onDatabase(t.database, ['poll', gone]);
  // And a poll is on its way, which will show another change.
  t.simulator.control.setState(gone, 'Completed');
  t.simulator.control.setLatency(2_500);
  const calls = t.simulator.control.callsOf(gone);
  const [row] = await findPurchases(t.app.sql, { purchaseId: gone, site: null });
  await requestPoll(t.app.sql, row!);
  await expect.poll(() => t.simulator.control.callsOf(gone)).toBe(calls + 1);

  const { exitCode, stdout } = await forget(gone);
  expect({ exitCode, pending: JSON.parse(stdout).counts.pending }).toEqual({ exitCode: 0, pending: 2 });
  t.simulator.control.setLatency(0);
  forgotten.resolve();
  const later = await t.watch({ script: [{ state: 'New' }] });
  await t.receiver.waitFor(() => t.eventsOf(later).length === 1);
  // Waits for what is under way.
  await t.app.stop();
  const dump = await wholeDatabase();

  expect(t.eventsOf(gone).map(({ data }) => data.sequence)).toEqual([1, 2]);
  expect(t.simulator.control.callsOf(gone)).toBe(calls + 1);
  for (const trace of [gone, 'ORD-1', 'cust-1']) expect(dump).not.toContain(trace);
  // The one attempt that could not be called back ended as a failure; nothing else went wrong.
  const troubles = t.log.map((line) => JSON.parse(line)).filter(({ level }) => ['warn', 'error', 'fatal'].includes(level));
  expect(troubles.map(({ event }) => event)).toEqual(['delivery.failed']);
});

test('what waits in memory for its next poll is not asked for any more', async () => {
  t = await startTestApp({
    realClock: true,
    change: (settings) => {
      const often = aStatePolicy({ poll: { first: 1_500, growth: 0, most: 1_500 } });
      settings.policy = { ...settings.policy, states: new Map([[0, often]]) };
    },
  });
  await t.app.start();
  const [gone, other] = [await t.watch({ script: [{ state: 'New' }] }), await t.watch({ script: [{ state: 'New' }] })];
  const calls = (id: string): number => t.simulator.control.callsOf(id);
  await expect.poll(() => calls(gone)).toBeGreaterThan(1);
  // Right after a poll was recorded, so that the next one is some way off.
  const polls = async () => (await findPurchases(t.app.sql, { purchaseId: gone, site: null }))[0]!.polls;
  const before = await polls();
  await expect.poll(polls, { interval: 5 }).toBe(before + 1);
  await eraseNow(gone);
  const [asked, others] = [calls(gone), calls(other)];
  await expect.poll(() => calls(other)).toBeGreaterThan(others + 1);
  expect(calls(gone)).toBe(asked);
});
