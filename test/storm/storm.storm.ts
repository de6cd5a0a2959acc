/**
 * All faults at once: three daemons, one database, one service, and a schedule of faults that follows from a seed. After
 * the storm everything must be as if the weather had been fine.
 *
 * `npm run test:storm` takes two minutes with a fixed seed. `STORM_SEED=7 STORM_MINUTES=30 npm run test:storm` is any other.
 */
import { appendFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { createRandom } from '../../src/simulator/values/random.ts';
import { startDaemon } from '../support/daemon.ts';
import {
  bugsInTheLogs,
  repeatedMessages,
  type Struck,
  unfinished,
  unheardRefusals,
  wrongIncidents,
  wronglyStuck,
  wrongNews,
  wrongRows,
  wrongSiteNews,
} from './checks.ts';
import { type Mend, strike } from './faults.ts';
import { forecast, type PlannedFault, resourceOf } from './forecast.ts';
import { openShop } from './shop.ts';
import { createWorld, type World } from './world.ts';

const SEED = Number(process.env.STORM_SEED ?? 6);
const MINUTES = Number(process.env.STORM_MINUTES ?? 2);
const PURCHASES = Number(process.env.STORM_PURCHASES ?? 2_000);
const REPLICAS = 3;
/** The rest of the time is for what the storm left over. */
const STORM = MINUTES * 60_000 * 0.7;
const CALM_AT_MOST = 5 * 60_000;

let world: World;
afterEach(async () => {
  const { STORM_LOG } = process.env;
  if (STORM_LOG !== undefined) for (const { output } of world.replicas) appendFileSync(STORM_LOG, output());
  await world.stop();
});

/** Lets one fault strike after the other, and mends each when its time is over. Answers which struck, and when. */
async function rage(planned: readonly PlannedFault[], began: number): Promise<Struck[]> {
  const busy = new Map<string, Promise<void>>();
  const struck: Struck[] = [];
  const running: Promise<void>[] = [];
  for (const fault of planned) {
    await until(began + fault.at);
    const resource = resourceOf(fault);
    const over = (busy.get(resource) ?? Promise.resolve()).then(async () => {
      const left = began + fault.at + fault.length - performance.now();
      // The one before it took its place for so long that its own time is over.
      if (left < 1_000) return;
      const from = Date.now();
      console.info(`${seconds(performance.now() - began)} ${fault.kind}, replica ${fault.replica + 1}, for ${seconds(left)}`);
      const mend: Mend = await strike(world, fault);
      await until(began + fault.at + fault.length);
      await mend();
      struck.push({ kind: fault.kind, from, to: Date.now() });
    });
    busy.set(resource, over);
    running.push(over);
  }
  await Promise.all(running);
  return struck;
}

test(`a storm of ${MINUTES} minutes with seed ${SEED} leaves nothing lost, nothing twice and nothing out of order`, async () => {
  world = await createWorld({ replicas: REPLICAS, seed: SEED });
  await Promise.all(world.replicas.map((replica) => replica.start().says('started', 60_000)));
  const { simulator, sql } = world;
  const shop = openShop({ random: createRandom(SEED), simulator, sql }, { purchases: PURCHASES, length: STORM * 0.9 });
  const planned = forecast({ random: createRandom(SEED + 1), length: STORM, replicas: REPLICAS });
  const struck = await rage(planned, performance.now());
  await shop.done;
  const calm = performance.now();
  const { ids } = shop;
  await expect
    .poll(() => unfinished(world, ids), { timeout: CALM_AT_MOST, interval: 1_000 })
    .toEqual({ purchases: 0, deliveries: 0 });
  console.info(
    `calm for ${seconds(performance.now() - calm)}: ${ids.length} purchases, ${world.receiver.received.length} webhooks`,
  );

  expect(await wrongRows(world, ids)).toEqual([]);
  expect(wrongNews(world, ids)).toEqual([]);
  expect(wronglyStuck(world, struck)).toEqual([]);
  expect(await wrongIncidents(world)).toEqual([]);
  expect(await repeatedMessages(world, struck)).toEqual([]);
  await expect.poll(() => wrongSiteNews(world, struck), { timeout: 60_000 }).toEqual([]);
  await expect.poll(() => unheardRefusals(world, struck), { timeout: 60_000 }).toEqual([]);
  expect(bugsInTheLogs(world)).toEqual([]);
  for (const replica of world.replicas) expect([replica.name, await replica.end('SIGTERM')]).toEqual([replica.name, 0]);
  const audit = startDaemon(['audit', '--json'], world.env);
  expect([await audit.end('SIGCONT'), audit.output()]).toEqual([0, expect.stringContaining('"whole": true')]);
});

function until(moment: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(moment - performance.now(), 0)));
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
