/**
 * All faults at once: three daemons, one database, one service, and a schedule of faults that follows from a seed. After
 * the storm everything must be as if the weather had been fine.
 *
 * `npm run test:storm` takes three minutes with a fixed seed (two in CI). `STORM_SEED=7 STORM_MINUTES=30 npm run test:storm` is any other.
 * `STORM_ONLY='rows locked,bulk load'` has these faults alone, `STORM_WITHOUT` all others.
 */
import { appendFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { createRandom } from '../../packages/simulator/src/values/random.ts';
import { readBooks, unexplainedLosses, wrongAudits, wrongEvents, wrongLossAlerts, wrongNews, wrongRows } from './agreement.ts';
import {
  bugsInTheLogs,
  repeatedMessages,
  unfinished,
  unheardRefusals,
  wrongIncidents,
  wronglyStuck,
  wrongSiteNews,
} from './checks.ts';
import { FAULT_KINDS, forecast } from './forecast.ts';
import { stoppedByNeighbours, waitedBehindBulk, watchPolls } from './neighbours.ts';
import { rage, seconds } from './rage.ts';
import { SITES } from './shop.ts';
import { createWorld, type World } from './world.ts';

/** A storm in which all kinds strike, and each neighbour has a time in which nothing else keeps polls from being recorded. */
const SEED = Number(process.env.STORM_SEED ?? 1362);
const MINUTES = Number(process.env.STORM_MINUTES ?? 3);
const PURCHASES = Number(process.env.STORM_PURCHASES ?? 2_000);
function listed(name: string): string[] | undefined {
  const kinds = process.env[name]?.split(',').map((kind) => kind.trim());
  const wrong = kinds?.find((kind) => !FAULT_KINDS.some((known) => known === kind));
  if (wrong !== undefined) throw new Error(`${name}: there is no fault "${wrong}"; there are: ${FAULT_KINDS.join(', ')}`);
  return kinds;
}
const ONLY = listed('STORM_ONLY');
const WITHOUT = listed('STORM_WITHOUT') ?? [];
const KINDS = FAULT_KINDS.filter((kind) => (ONLY?.includes(kind) ?? true) && !WITHOUT.includes(kind));
const REPLICAS = 3;
/** The rest of the time is for what the storm left over. */
const STORM = MINUTES * 60_000 * 0.7;
const CALM_AT_MOST = 5 * 60_000;

let world: World;
let polls: ReturnType<typeof watchPolls>;
afterEach(async () => {
  polls.end();
  const { STORM_LOG } = process.env;
  if (STORM_LOG !== undefined) for (const { output } of [...world.replicas, world.older]) appendFileSync(STORM_LOG, output());
  await world.stop();
});

test(`a storm of ${MINUTES} minutes with seed ${SEED} leaves nothing lost, nothing twice and nothing out of order`, async () => {
  world = await createWorld({ replicas: REPLICAS, seed: SEED, failsOver: KINDS.includes('lossy failover') });
  await Promise.all(world.replicas.map((replica) => replica.start().says('started', 60_000)));
  polls = watchPolls(world);
  const business = world.shop.open({ purchases: PURCHASES, length: STORM * 0.9 });
  const struck = await rage(world, forecast({ random: createRandom(SEED + 1), kinds: KINDS, length: STORM, replicas: REPLICAS }));
  await business;
  const calm = performance.now();
  const finished = { purchases: 0, deliveries: 0, examples: [] };
  await expect.poll(() => unfinished(world), { timeout: CALM_AT_MOST, interval: 1_000 }).toEqual(finished);
  const { shop, receivers } = world;
  console.info(
    `calm for ${seconds(performance.now() - calm)}: ${shop.orders.length} purchases, ${receivers.shop.received.length} webhooks`,
  );

  const books = await readBooks(world);
  expect.soft(await wrongRows(world)).toEqual([]);
  expect.soft(wrongNews(world, books)).toEqual([]);
  expect.soft(wrongEvents(world, books)).toEqual([]);
  expect.soft(unexplainedLosses(world, books, struck)).toEqual([]);
  expect.soft(shop.refusals).toEqual([]);
  expect.soft(stoppedByNeighbours(polls.progress, struck)).toEqual([]);
  expect.soft(await waitedBehindBulk(world, struck)).toEqual([]);
  expect.soft(wronglyStuck(world, books, struck)).toEqual([]);
  expect.soft(await wrongIncidents(world)).toEqual([]);
  expect.soft(await repeatedMessages(world, struck)).toEqual([]);
  expect.soft(bugsInTheLogs(world)).toEqual([]);
  await expect
    .poll(async () => wrongLossAlerts(world, await readBooks(world), struck), { timeout: 60_000, interval: 1_000 })
    .toEqual([]);
  expect.soft(await wrongAudits(world, await readBooks(world))).toEqual([]);
  for (const site of SITES)
    await expect
      .poll(async () => wrongSiteNews(await readBooks(world), site, struck), { timeout: 60_000, interval: 1_000 })
      .toEqual([]);
  await expect.poll(() => unheardRefusals(world, struck), { timeout: 60_000 }).toEqual([]);
  for (const replica of world.replicas) expect([replica.name, await replica.end('SIGTERM')]).toEqual([replica.name, 0]);
});
