/** `export`: what came of a story, in files and for programs, and what came since. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { onDatabase } from '../command.ts';

const MINUTE = 60_000;
const FORMULA = '=HYPERLINK(9)';
const STUCK = [{ state: 'New' }, { state: 'WaitingForCardPayments', after: '5s' }];

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await t.watch({ purchaseId: FORMULA, script: [...STUCK, { state: 'Completed', after: '25m' }] });
  for (let customer = 0; customer < 4; customer++) await t.watch({ script: STUCK });
  await t.live(30 * MINUTE);
});
afterAll(() => t.stop());

const run = (...argv: string[]) => onDatabase(t.database, ['export', ...argv]);
async function rowsOf(...argv: string[]): Promise<Record<string, unknown>[]> {
  const { exitCode, stdout, stderr } = await run(...argv, '--format', 'jsonl');
  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^\d+ rows?/)]);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
const cursorOf = (stderr: string): string => /--after (\S+)/.exec(stderr)![1]!;

test('transitions are those of the view, in order, and each belongs to its event', async () => {
  const rows = await rowsOf('transitions');
  const known = await t.database.sql`
    select t.purchase_id, t.site, t.sequence, t.from_name, t.to_name, e.event_id from purchase_watch.transitions t
    join purchase_watch.event_log e on e.purchase_id = t.purchase_id and e.sequence = t.sequence`;
  const named = rows.map(({ purchase_id, site, sequence, from_name, to_name, event_id }) => ({
    ...{ purchase_id, site, sequence, from_name, to_name, event_id },
  }));
  expect(rows.length).toBeGreaterThan(10);
  expect(named.toSorted((a, b) => String(a.event_id).localeCompare(String(b.event_id)))).toEqual(
    known
      .map((row) => ({
        ...{ purchase_id: row.purchaseId, site: row.site, sequence: row.sequence, from_name: row.fromName },
        ...{ to_name: row.toName, event_id: row.eventId },
      }))
      .toSorted((a, b) => a.event_id.localeCompare(b.event_id)),
  );
  for (const { not_after, not_before } of rows)
    expect([not_after, not_before ?? not_after]).toEqual(
      Array(2).fill(expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/)),
    );
});

test('stays are those of the view that ended, and the view has the others', async () => {
  const rows = await rowsOf('stays');
  const view = await t.database.sql`
    select purchase_id, state_name, to_name, seconds, stuck_at is not null as was_stuck, is_waiting from purchase_watch.stays order by entered_at`;
  const ended = view.filter(({ toName }) => toName !== null);
  expect(rows.length).toBe(ended.length);
  const ofOne = rows.filter(({ purchase_id }) => purchase_id === FORMULA);
  expect(ofOne.map(({ state_name, to_name, stuck_at }) => [state_name, to_name, stuck_at !== null])).toEqual([
    ['New', 'WaitingForCardPayments', false],
    ['WaitingForCardPayments', 'Completed', true],
  ]);
  expect(ofOne.map(({ seconds }) => seconds)).toEqual(
    ended.filter(({ purchaseId }) => purchaseId === FORMULA).map(({ seconds }) => seconds),
  );
  expect(view.filter(({ isWaiting }) => isWaiting).map(({ stateName, wasStuck }) => [stateName, wasStuck])).toEqual(
    Array(4).fill(['WaitingForCardPayments', true]),
  );
});

test('deliveries say what became of each event at each subscriber, and incidents what was wrong', async () => {
  const deliveries = await rowsOf('deliveries');
  const [known] = await t.database.sql<[{ count: number }]>`select count(*)::integer as count from purchase_watch.delivery_log`;
  expect(deliveries.length).toBe(known.count);
  expect(deliveries.filter(({ subscriber }) => subscriber === '@slack').length).toBeGreaterThan(0);
  expect(deliveries[0]).toMatchObject({
    status: 'delivered',
    attempts: 1,
    http_status: expect.any(Number),
    type: 'purchase.state_changed',
  });
  const incidents = await rowsOf('incidents');
  expect(incidents).toEqual([
    expect.objectContaining({
      kind: 'stuck',
      site: 'default',
      state_name: 'WaitingForCardPayments',
      incident_id: expect.stringMatching(/^inc_/),
    }),
  ]);
});

test('CSV has a line of names, and no cell that a spreadsheet would calculate', async () => {
  const { stdout } = await run('stays');
  const [head, ...lines] = stdout.trim().split('\n');
  expect(head).toBe('left_at,entered_at,site,purchase_id,sequence,state,state_name,to_state,to_name,seconds,stuck_at');
  expect(lines.filter((line) => line.includes(`,'${FORMULA},`)).length).toBe(2);
  expect(lines.join('\n')).not.toMatch(/(?:^|,)=/m);
  expect((await run('stays', '--no-header')).stdout).toBe(lines.map((line) => `${line}\n`).join(''));
  expect((await run('stays', '--from', '2001-01-01T00:00:00Z', '--to', '2001-01-02T00:00:00Z')).stdout).toBe(`${head}\n`);
});

test('an export goes on after the one before, by the cursor that it said or kept in a file', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-export-')), 'cursor');
  for (const what of ['transitions', 'stays', 'deliveries', 'incidents']) {
    const first = await run(what, '--format', 'jsonl');
    const after = cursorOf(first.stderr);
    const none = await run(what, '--after', after, '--no-header');
    expect([none.stdout, cursorOf(none.stderr)]).toEqual(['', after]);
    const kept = await run(what, '--format', 'jsonl', '--cursor-file', `${file}-${what}`);
    expect([kept.stdout, readFileSync(`${file}-${what}`, 'utf8')]).toEqual([first.stdout, `${after}\n`]);
  }
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Cancelled', after: '5s' }] });
  await t.live(MINUTE);
  const { stdout } = await run('stays', '--format', 'jsonl', '--cursor-file', `${file}-stays`);
  expect(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([expect.objectContaining({ purchase_id: purchase, state_name: 'New', to_name: 'Cancelled' })]);
});

test('what was erased does not come out', async () => {
  const purchase = await t.watch({ script: [{ state: 'New' }, { state: 'Cancelled', after: '5s' }] });
  await t.live(MINUTE);
  const all = async () =>
    (await Promise.all(['transitions', 'stays', 'deliveries', 'incidents'].map((what) => run(what))))
      .map(({ stdout }) => stdout)
      .join('');
  expect(await all()).toContain(purchase);
  await onDatabase(t.database, ['forget', purchase, '--yes']);
  expect(await all()).not.toContain(purchase);
});

test.each([
  [['stays', '--after', 'nonsense'], 'the cursor "nonsense" is not one of such an export'],
  [['stays', '--after', 'x', '--cursor-file', 'y'], '--after and --cursor-file both say where to begin'],
  [['stays', '--site', 'nowhere'], '--site: '],
  [['sales'], "'sales' is invalid for argument 'what'. Allowed choices are transitions, stays"],
])('%j is refused with what to do', async (argv, said) => {
  const { exitCode, stderr, stdout } = await run(...argv);
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toContain(said);
});

test('a reader that goes away ends the export quietly, and no cursor passes what it did not read', async () => {
  const bin = join(import.meta.dirname, '../../../bin/purchase-watch.mjs');
  const file = join(mkdtempSync(join(tmpdir(), 'purchase-watch-export-')), 'cursor');
  const child = spawn(process.execPath, [bin, 'export', 'deliveries', '--cursor-file', file], {
    env: { PATH: process.env.PATH, DATABASE_URL: t.database.url },
  });
  child.stdout.destroy();
  let complained = '';
  child.stderr.on('data', (chunk) => (complained += chunk));
  const [code] = await once(child, 'close');
  expect([code, complained, existsSync(file)]).toEqual([0, '', false]);
});
