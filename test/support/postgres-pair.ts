/** A real primary and a real standby of it, from the Postgres that the system has installed. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { freePorts } from './broker-process.ts';
import { postgresUser } from './killable-postgres.ts';

const INSTALLED = '/usr/lib/postgresql';
const BIN = existsSync(INSTALLED)
  ? readdirSync(INSTALLED)
      .map((version) => join(INSTALLED, version, 'bin'))
      .find((bin) => existsSync(join(bin, 'pg_basebackup')) && existsSync(join(bin, 'initdb')))
  : undefined;
/** Debian's packages bring the server and its tools; without them there is no pair. */
export const canPair = BIN !== undefined;

export interface PostgresPair {
  /** Both hosts, the standby first. */
  readonly url: string;
  /** The first primary alone. */
  readonly primaryUrl: string;
  /** The standby alone. */
  readonly standbyUrl: string;
  /** Kills the first primary, as a crash does. */
  killPrimary(): Promise<void>;
  /** Kills the standby, promoted or not. */
  killStandby(): Promise<void>;
  /** Starts the first primary again, on its own data: after a failover it is a second primary. Resolves when it answers. */
  startPrimary(): Promise<void>;
  /** From here on the standby receives nothing: what is written meanwhile is lost when the standby is promoted. */
  cutStandby(): Promise<void>;
  /** Makes the standby a primary. Resolves when it takes writes. */
  promote(): Promise<void>;
  /** Kills the primary and promotes the standby. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

interface PairOptions {
  /** Added to the environment of both servers. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further settings of both, such as `max_connections=200`. */
  readonly settings?: readonly string[];
}

export async function startPostgresPair({ env = {}, settings: further = [] }: PairOptions = {}): Promise<PostgresPair> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-pair-'));
  const user = postgresUser();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  chmodSync(folder, 0o700);
  const run = (program: string, ...args: string[]) => promisify(execFile)(join(BIN!, program), args, { ...user, cwd: '/' });
  const [primaryPort, standbyPort] = (await freePorts(2)) as [number, number];
  const urlOf = (...ports: number[]) => `postgres://postgres@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres`;
  const serve = async (data: string, port: number) => {
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'fsync=off',
      'shared_buffers=16MB',
      ...further,
    ];
    const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
    const server = spawn(join(BIN!, 'postgres'), args, { ...user, cwd: '/', stdio: 'ignore', env: { ...process.env, ...env } });
    const ended = once(server, 'exit');
    const sql = connect(urlOf(port), { max: 1 });
    for (;;) {
      const answers = await sql`select 1`.then(
        () => true,
        () => false,
      );
      if (answers) break;
    }
    await sql.end();
    return async () => {
      if (server.exitCode === null && server.signalCode === null) server.kill('SIGQUIT');
      await ended;
    };
  };
  const [primaryData, standbyData] = [join(folder, 'primary'), join(folder, 'standby')];
  await run('initdb', '-D', primaryData, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync');
  let stopPrimary = await serve(primaryData, primaryPort);
  const from = ['-h', '127.0.0.1', '-p', String(primaryPort), '-U', 'postgres'];
  await run('pg_basebackup', ...from, '-D', standbyData, '-R', '-X', 'stream', '-c', 'fast', '--no-sync');
  const stopStandby = await serve(standbyData, standbyPort);
  const atStandby = async (work: (sql: Sql) => Promise<unknown>) => {
    const sql = connect(urlOf(standbyPort), { max: 1 });
    await work(sql);
    await sql.end();
  };
  const promote = () => atStandby((sql) => sql`select pg_promote()`);
  return {
    url: urlOf(standbyPort, primaryPort),
    primaryUrl: urlOf(primaryPort),
    standbyUrl: urlOf(standbyPort),
    killPrimary: () => stopPrimary(),
    killStandby: stopStandby,
    startPrimary: async () => {
      stopPrimary = await serve(primaryData, primaryPort);
    },
    cutStandby: () =>
      atStandby(async (sql) => {
        await sql`alter system set primary_conninfo = ''`;
        await sql`select pg_reload_conf()`;
        while ((await sql`select from pg_stat_wal_receiver`).length > 0) await delay(50);
      }),
    promote,
    failOver: async () => {
      await stopPrimary();
      await promote();
    },
    stop: async () => {
      await Promise.all([stopPrimary(), stopStandby()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
