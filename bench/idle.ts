/** What a daemon costs that has many purchases to watch and none to ask for. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { seed } from './seed.ts';

export const idle: Bench = async (lab, { quick, large, say }) => {
  const purchases = large ? 1_000_000 : 100_000;
  const ms = quick ? 5_000 : 30_000;
  await lab.service.ask('reset');
  const database = await lab.database();
  say(`inserting ${purchases} purchases`);
  await seed(database.sql, { count: purchases, dueEach: 0 });
  const { daemon, readyMs } = await lab.daemon(database, { every: null });
  await delay(5_000);
  const reading = async () => {
    // Sessions hand in their counts once a second at most, so a window's count is exact to about a second of work.
    const [row] = await database.sql<[{ transactions: number }]>`
      select xact_commit::float8 as transactions from pg_stat_database where datname = current_database()`;
    return { at: performance.now(), ...row, usage: await daemon.usage(), postgres: lab.postgres() };
  };
  const before = await reading();
  await delay(ms);
  const after = await reading();
  await daemon.stop();
  await database.drop();
  const elapsed = after.at - before.at;
  const postgresMs = before.postgres === null || after.postgres === null ? Number.NaN : after.postgres - before.postgres;
  return {
    bench: 'idle',
    how: `${purchases} purchases waiting, none due, ${Math.round(elapsed / 1_000)} s`,
    rows: [
      { what: 'transactions', value: ((after.transactions - before.transactions) / elapsed) * 1_000, unit: '/s', atMost: 5 },
      {
        what: 'daemon',
        value: ((after.usage.cpuMs - before.usage.cpuMs) / elapsed) * 100,
        unit: '% of a core',
        atMost: large ? 1 : 2,
      },
      { what: 'Postgres, its own upkeep included', value: (postgresMs / elapsed) * 100, unit: '% of a core' },
      { what: 'memory of the daemon (RSS)', value: after.usage.rss / 1e6, unit: 'MB' },
      { what: 'daemon ready after', value: readyMs, unit: 'ms', atMost: 1_000 },
    ],
  };
};
