import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts';
import { quickStart } from '../support/daemon.ts';

const BIN = fileURLToPath(new URL('../../bin/purchase-watch.mjs', import.meta.url));

/** What happened, as the demo's own database has it afterwards. */
async function factsOf(sql: Sql) {
  const events = await sql<{ type: string; channel: string; status: string }[]>`
    select e.type, s.name as channel, d.status from purchase_watch_internal.deliveries d
    join purchase_watch_internal.events e on e.position = d.event
    join purchase_watch_internal.subscribers s on s.id = d.subscriber order by e.position`;
  const sent = (channel: string): string[] => events.filter((event) => event.channel === channel).map(({ type }) => type);
  const shop = Map.groupBy(sent('shop'), (type) => type);
  return {
    slack: sent('@slack'),
    shop: (type: string): number => shop.get(type)?.length ?? 0,
    // What was announced in the last moment may wait for the next start.
    lost: events.filter(({ status }) => status !== 'delivered' && status !== 'pending'),
    // What each alert about a stuck customer names first.
    causes: await sql<{ type: string; cause: string; likely: boolean }[]>`
      select type, body::jsonb #>> '{data,causes,0,cause}' as cause, (body::jsonb #>> '{data,causes,0,likely}')::boolean as likely
      from purchase_watch_internal.events
      where type in ('incident.opened', 'incident.checkouts') and body::jsonb #>> '{data,causes,0,cause}' is not null order by position`,
    incidents: await sql`
      select kind, site, state, peak >= 4 as "isManyCustomers", moved_on >= 4 as "didManyMoveOn", ended_at is not null as "isOver"
      from purchase_watch_internal.incidents where id <> 'inc_seeded'`,
  };
}

test('the demo lets a customer be late, breaks and mends a page, and everybody hears of it', { timeout: 300_000 }, async () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'purchase-watch-demo-'));
  onTestFinished(() => rmSync(DATA_DIR, { recursive: true, force: true }));
  const home = join(DATA_DIR, 'demo');
  // When the tests run as root, the server's user must be able to enter.
  chmodSync(DATA_DIR, 0o755);
  const child = spawn(process.execPath, [BIN, 'demo', '--once'], {
    env: { DATA_DIR, ...quickStart() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (complaints += chunk));
  const [code] = await once(child, 'close');

  expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
  // The chapters come in order. Colours are for terminals.
  expect(text.match(/^\d(?= {2}\S)/gm)).toEqual(['1', '2', '3', '4', '5', '6']);
  expect(text).not.toContain('\u001b');
  // Every signature was good.
  expect(text.match(/webhook ✓/g)!.length).toBeGreaterThan(50);
  expect(text).not.toContain('not good');
  expect(readFileSync(join(home, 'demo.log'), 'utf8')).not.toMatch(/"level":"(?:error|fatal)"/);

  const postgres = await startEmbedded({ dataDir: home });
  const sql = connect(postgres.url, { max: 1 });
  const facts = await factsOf(sql);
  await sql.end();
  await postgres.stop();
  // The late customer and the return of that customer; the broken page and its mend.
  expect(facts.slack).toEqual(['incident.checkouts', 'incident.checkouts', 'incident.opened', 'incident.ended']);
  const brokenPage = { kind: 'stuck', site: 'demo-se', state: 6, isManyCustomers: true, didManyMoveOn: true, isOver: true };
  // The incident may end a moment before the last of its customers is polled again, so `moved_on` is no fixed share of `peak`.
  expect(facts.incidents).toEqual([brokenPage]);
  // One customer speaks for little; of the page, the story says that a deploy went wrong.
  expect([...facts.causes]).toEqual([
    { type: 'incident.checkouts', cause: 'rerender', likely: false },
    { type: 'incident.opened', cause: 'deploy', likely: true },
  ]);
  expect(facts.shop('purchase.stuck')).toBeGreaterThanOrEqual(5);
  expect(facts.shop('purchase.recovered')).toBe(facts.shop('purchase.stuck'));
  expect(facts.shop('purchase.invoice_ready')).toBeGreaterThan(0);
  expect(facts.lost).toEqual([]);
});
