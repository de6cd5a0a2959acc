/** What the product says of itself at rest: its audit, the headline, its feed and histories, its figures. */
import { audit } from '../../src/actions/audit.ts';
import { connect } from '../../src/postgres/connection/database.ts';
import { crowd } from './calls.ts';
import { books } from './looks.ts';
import type { Headline } from './model-people.ts';
import { MAX_RPS } from './settings.ts';
import type { World } from './world.ts';

type Ask = <T>(path: string) => Promise<T>;

/** Asks the first daemon that answers, and answers what is wrong with what it says. */
export async function wrongWords(world: World): Promise<string[]> {
  const problems: string[] = [];
  const result = await done(world, async () => {
    const sql = connect('postgres://postgres@127.0.0.1:5501/postgres', { max: 2 });
    return audit(sql, { site: null, since: null }).finally(() => sql.end());
  });
  for (const [check, { gaps, first }] of Object.entries(result))
    if (gaps > 0) problems.push(`audit: ${check} has ${gaps} gaps: ${JSON.stringify(first)}`);
  const text = async (path: string): Promise<string> => {
    const answer = await done(world, () => world.call('GET', path));
    if (answer?.status !== 200) throw new Error(`${path} answers ${answer?.status} ${answer?.text} at rest`);
    return answer.text;
  };
  const ask: Ask = async (path) => JSON.parse(await text(path));
  const { mostPerSecond } = world.outside.simulator.control.counters();
  // Each daemon rounds its part up, the first and the last call of a second may both be in it, and each site has a ceiling of its own.
  const ceiling = (MAX_RPS + 2 * world.plan.daemons - 1) * (world.second.size > 0 ? 2 : 1);
  // Calls that leave evenly may arrive together where the network is slow.
  if (world.facts.blur <= 100 && mostPerSecond.status > ceiling)
    problems.push(`${mostPerSecond.status} calls in a second, the ceiling is ${ceiling}`);
  problems.push(...crowd(world));
  const tests = (await books(world)).stored.filter(({ type }) => type === 'subscriber.test').length;
  if (tests > world.tests) problems.push(`${tests} tests were sent, and people asked for ${world.tests}`);
  const { headline } = await ask<{ headline: Headline }>('/v1/overview');
  problems.push(...world.people.headline(headline, (await books(world)).rows));
  problems.push(...(await histories(world, ask)));
  await text('/readyz');
  problems.push(...wrongFigures(await text('/metrics')));
  return [...problems, ...world.daemons.leaks(world.shell.network.open)];
}

/** What is wrong with the feed, read page by page, and with the history of a purchase that a shop knows. */
async function histories(world: World, ask: Ask): Promise<string[]> {
  const { stored } = await books(world);
  const fed: string[] = [];
  for (let after = ''; ; ) {
    const { data, nextCursor } = await ask<{ data: { id: string }[]; nextCursor: string }>(`/v1/events?limit=100${after}`);
    if (data.length === 0) break;
    fed.push(...data.map(({ id }) => id));
    after = `&after=${encodeURIComponent(nextCursor)}`;
  }
  const expected = stored.filter(({ type }) => !type.startsWith('incident.')).map(({ id }) => id);
  const problems: string[] = [];
  if (fed.join() !== expected.join()) problems.push(`the feed has ${fed.length} events, ${expected.length} are stored`);
  const [purchaseId] = world.registered;
  if (purchaseId === undefined) return problems;
  const { transitions } = await ask<{ transitions: { to: { value: number } }[] }>(`/v1/purchases/${purchaseId}`);
  const shown = transitions.map(({ to }) => to.value).join();
  const moves = stored.filter((event) => event.purchaseId === purchaseId && event.type === 'purchase.state_changed');
  const told = moves.map(({ body }) => (JSON.parse(body) as { data: { to: { value: number } } }).data.to.value).join();
  return shown === told ? problems : [...problems, `the history of ${purchaseId} shows ${shown}, its events say ${told}`];
}

/** The least and the most that a figure of a daemon may be at rest, in each of its lines. */
const FIGURES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  purchase_watch_loop_healthy: [1, 1],
  purchase_watch_database_up: [1, 1],
  purchase_watch_site_up: [1, 1],
  purchase_watch_subscriber_up: [1, 1],
  purchase_watch_channel_up: [1, 1],
  purchase_watch_polls_in_flight: [0, 1],
  purchase_watch_polls_unrecorded: [0, 1],
  // Of hundreds of purchases a few are due at any moment; none is for long.
  purchase_watch_poll_lag_seconds: [0, 2],
  purchase_watch_deliveries_waiting: [0, 0],
  purchase_watch_database_connections: [0, 12],
  purchase_watch_database_queries_waiting: [0, 2],
};

function wrongFigures(metrics: string): string[] {
  return Object.entries(FIGURES).flatMap(([name, [least, most]]) => {
    const lines = [...metrics.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
    // A daemon that has polled nothing yet has no figures of polls.
    if (lines.length === 0 && name === 'purchase_watch_database_up') return [`/metrics does not have ${name}`];
    return lines.filter(([, value]) => Number(value) < least || Number(value) > most).map(([line]) => `at rest ${line}`);
  });
}

/** Lets time pass until something outside is done. */
async function done<T>(world: World, act: () => Promise<T>): Promise<T> {
  const { scheduler } = world.shell;
  let result: { value: T } | { error: unknown } | null = null;
  scheduler.in(world.outside.place, () =>
    act().then(
      (value) => {
        result = { value };
      },
      (error: unknown) => {
        result = { error };
      },
    ),
  );
  await scheduler.run(scheduler.now + 60_000, () => result !== null);
  const settled = result as { value: T } | { error: unknown } | null;
  if (settled === null) throw new Error('no answer within a minute at rest');
  if ('error' in settled) throw settled.error;
  return settled.value;
}
