/**
 * The fuzz run: hostile inputs through every door of a daemon at once (HTTP API, console, settings, SQL, answers of the checkout
 * service and of receivers), all made from a seed. Afterwards the daemon must be as well as before.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiDoor, openApi } from './api.ts';
import { auditFaults, calmFaults, inheritanceFaults, logFaults, memoryFault, settle } from './checks.ts';
import { type ConsoleDoor, openConsole } from './console.ts';
import { seedOf } from './hostile.ts';
import { attackSocket } from './raw-http.ts';
import { openSettings, type SettingsDoor } from './settings.ts';
import { openSql, type SqlDoor } from './sql.ts';
import { driveTraffic } from './traffic.ts';
import { createWorld, type World } from './world.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** All doors together. */
  readonly inputs: number;
  readonly report?: (line: string) => void;
}

export interface FuzzResult {
  /** What went wrong, with the input where one did it; the first ones. */
  readonly faults: readonly string[];
  /** Inputs by door. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Shares of the doors; together 1. */
const SHARES = {
  api: 0.3,
  'raw HTTP': 0.1,
  console: 0.15,
  settings: 0.15,
  SQL: 0.1,
  service: 0.1,
  receivers: 0.1,
} as const;
type Door = keyof typeof SHARES;
const ROUND = 2_000;
/** Rounds between two readings of all that is stored. */
const READ_EVERY = 10;
const MOST_FAULTS = 25;
const MOST_OF_A_KIND = 3;
/** The share of the rounds before the memory is measured for the first time: caches fill, code is compiled, connections open. */
const WARM = 0.2;

interface Doors {
  readonly world: World;
  readonly api: ApiDoor;
  readonly pages: ConsoleDoor;
  readonly sql: SqlDoor;
  readonly settings: SettingsDoor;
  readonly settingsFile: string;
  readonly found: (fault: string) => void;
}

/** Runs it. Throws when the daemon does not start. */
export async function fuzz({ seed, inputs, report = () => undefined }: FuzzOptions): Promise<FuzzResult> {
  const faults: string[] = [];
  const kinds = new Map<string, number>();
  const found = (fault: string): void => {
    // One bug answers many inputs in the same words.
    const kind = (fault.split('\n  ')[1] ?? fault).slice(0, 100);
    const times = (kinds.get(kind) ?? 0) + 1;
    kinds.set(kind, times);
    if (times > MOST_OF_A_KIND) return;
    if (faults.length < MOST_FAULTS) faults.push(fault);
    report(`FAULT ${fault}`);
  };
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-fuzz-'));
  const world = await createWorld(seed);
  try {
    const doors: Doors = {
      world,
      api: await openApi(world.origin, found),
      pages: openConsole(world.origin, found),
      sql: await openSql(world, found),
      settings: openSettings(found),
      settingsFile: join(folder, 'settings.yaml'),
      found,
    };
    const counts: Record<Door, number> = { api: 0, 'raw HTTP': 0, console: 0, settings: 0, SQL: 0, service: 0, receivers: 0 };
    const began = performance.now();
    const seconds = (): number => Math.round((performance.now() - began) / 1_000);
    const rounds = Math.max(2, Math.ceil(inputs / ROUND));
    const warm = Math.ceil(rounds * WARM);
    let before: Awaited<ReturnType<typeof settle>> | null = null;
    for (let round = 0; round < rounds && world.daemon.process.exitCode === null; round++) {
      if (round === warm) before = await settle(world, 'before');
      await attack(doors, { seed: seedOf(seed, round), inputs: inputs / rounds, counts });
      if (round % READ_EVERY === 0 || round === rounds - 1) await doors.sql.readAll();
      if (round % 5 === 0 || round === rounds - 1)
        report(
          `${seconds()} s, round ${round + 1} of ${rounds}: ${JSON.stringify({ ...counts, heap: (await world.inspector.memory()).heapUsed })}`,
        );
    }
    const after = await settle(world, 'after');
    report(`${seconds()} s, memory before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
    for (const fault of [
      memoryFault(before!, after, inputs),
      ...(await inheritanceFaults(world)),
      ...(await calmFaults(world)),
      ...logFaults(world, doors.pages.tokens, seconds()),
      ...(await auditFaults(world)),
    ])
      if (fault !== null) found(fault);
    await doors.api.close();
    await doors.settings.close();
    world.inspector.close();
    const ended = await world.daemon.end('SIGTERM');
    if (ended !== 0) found(`the daemon ended with ${ended}`);
    return { faults, counts };
  } finally {
    const { FUZZ_LOG } = process.env;
    if (FUZZ_LOG !== undefined) writeFileSync(FUZZ_LOG, world.daemon.output());
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One round through all doors at once. */
async function attack(
  { world, api, pages, sql, settings, settingsFile, found }: Doors,
  plan: { seed: number; inputs: number; counts: Record<Door, number> },
): Promise<void> {
  const { seed, inputs, counts } = plan;
  const part = (door: Door): number => Math.ceil(inputs * SHARES[door]);
  const did = (door: Door, count = part(door)) => {
    counts[door] += count;
  };
  await Promise.all([
    api.attack(seedOf(seed, 'api'), part('api')).then(() => did('api')),
    attackSocket(world.origin, api.document, seedOf(seed, 'raw'), part('raw HTTP'), found).then(() => did('raw HTTP')),
    pages.attack(seedOf(seed, 'console'), part('console')).then(() => did('console')),
    settings.attack({ path: settingsFile, seed: seedOf(seed, 'settings'), count: part('settings') }).then(() => did('settings')),
    sql.attack(seedOf(seed, 'sql'), part('SQL')).then(() => did('SQL')),
    driveTraffic(world, api, seedOf(seed, 'traffic'), { service: part('service'), receivers: part('receivers') }).then(
      (played) => {
        did('service', played.service);
        did('receivers', played.receivers);
      },
    ),
  ]);
  await api.tidy();
}
