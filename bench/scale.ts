/** Whether a poll costs more when many more purchases are watched. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import type { Database, Lab } from './lab.ts';
import { median, observe, type Window } from './measure.ts';
import { addSilentSubscriber, seed } from './seed.ts';

/** As many are asked for in turn, however many wait. */
const HOT = 10_000;
const EVERY = 500;
const FEW = 10_000;
const MANY = 1_000_000;

export const scale: Bench = async (lab, { say }) => {
  await lab.service.ask('reset');
  await lab.service.ask('set', { changeEvery: 50, note: false });
  say(`inserting ${FEW} and ${MANY} purchases`);
  const databases = [await filled(lab, FEW), await filled(lab, MANY)] as const;
  const few = await watching(lab, databases[0]);
  const many = await watching(lab, databases[1]);
  const rounds: { few: Window; many: Window }[] = [];
  for (let round = 0; round < 5; round++) {
    const pair = { few: await few.turn(), many: await many.turn() };
    say(`round ${round + 1} of 5: ${Math.round(pair.few.pollsPerSecond)}/s and ${Math.round(pair.many.pollsPerSecond)}/s`);
    rounds.push(pair);
  }
  await few.stop();
  await many.stop();
  const of = (value: (pair: (typeof rounds)[number]) => number | null): number =>
    median(rounds.map((pair) => value(pair) ?? Number.NaN));
  return {
    bench: 'scale',
    how: `${HOT} purchases asked in turn, spread over ${FEW} and over ${MANY} that are watched; daemon and Postgres together`,
    rows: [
      { what: `a thousand polls of ${FEW}`, value: of((p) => p.few.cpuMsPerThousand), unit: 'ms CPU' },
      { what: `a thousand polls of ${MANY}`, value: of((p) => p.many.cpuMsPerThousand), unit: 'ms CPU' },
      {
        what: 'cost, many to few',
        value: of((p) => p.many.cpuMsPerThousand! / p.few.cpuMsPerThousand!),
        unit: 'ratio',
        atMost: 1.2,
      },
      { what: 'polls a second, many to few', value: of((p) => p.many.pollsPerSecond / p.few.pollsPerSecond), unit: 'ratio' },
      { what: 'memory of the daemon (RSS) with many', value: of((p) => p.many.daemonRss / 1e6), unit: 'MB' },
    ],
  };
};

async function filled(lab: Lab, count: number): Promise<Database> {
  const database = await lab.database();
  await seed(database.sql, { count, dueEach: count / HOT });
  return database;
}

async function watching(lab: Lab, database: Database): Promise<{ turn(): Promise<Window>; stop(): Promise<void> }> {
  const { daemon } = await lab.daemon(database, { every: EVERY });
  await addSilentSubscriber(database.sql);
  await delay(8_000);
  daemon.pause();
  return {
    turn: async () => {
      daemon.resume();
      await delay(1_000);
      const window = await observe(lab, database, daemon, 8_000);
      daemon.pause();
      return window;
    },
    stop: async () => {
      daemon.resume();
      await daemon.stop();
      await database.drop();
    },
  };
}
