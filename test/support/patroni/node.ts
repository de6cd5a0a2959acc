/** One machine of a Patroni cluster: Patroni, its Postgres, and the lines over which everything outside of the machine reaches both. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { connect } from '../../../src/postgres/connection/database.ts';
import { installed } from '../broker-process.ts';
import type { Pair } from '../certificates.ts';
import { postgresUser } from '../killable-postgres.ts';
import { type Fault, startWire, type Wire } from '../wire.ts';

const FILE = join(import.meta.dirname, '../../../deploy/patroni/patroni.yml');
/** Of every role of the cluster, and of Patroni's REST API. */
export const PASSWORD = 'change-me';

export interface PatroniNode {
  readonly name: string;
  /** Where others reach its Postgres, and Patroni's REST API: lines that a cut breaks. */
  readonly outside: { readonly postgres: string; readonly rest: string };
  /** A superuser's address of a database at its Postgres, which no cut breaks. */
  url(database: string): string;
  /** What Patroni's REST API answers, which no cut breaks; null without an answer. */
  ask(path: string, request?: RequestInit): Promise<Response | null>;
  /** Whether Patroni says that it is the leader, and Postgres takes writes. */
  isLeader(): Promise<boolean>;
  /** Starts Patroni, which starts Postgres. */
  start(): void;
  /** Ends Patroni as `kill -9` does; Postgres goes on. */
  killPatroni(): Promise<void>;
  /** Ends all processes of Postgres as `kill -9` does. */
  killPostgres(): Promise<void>;
  /** Spoils all lines that lead to the machine and from it to etcd, or mends them. */
  spoil(fault: Fault | null): Promise<void>;
  /** What Patroni wrote to its log. */
  log(): string;
  stop(): Promise<void>;
}

export interface NodeParts {
  readonly name: string;
  readonly folder: string;
  /** Where its Postgres and its Patroni listen, behind the lines. */
  readonly ports: { readonly postgres: number; readonly rest: number };
  readonly etcd: string;
  /** What Postgres shows to who connects. */
  readonly pair: Pair;
  /** Settings of the cluster in place of those of the file. */
  readonly dcs: Readonly<Record<string, unknown>>;
  /** Settings of this Postgres besides. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Lays the lines, and writes the node's file: the one that is published, with addresses and folders of the test. */
export async function createNode({ name, folder, ports, etcd, pair, dcs, parameters }: NodeParts): Promise<PatroniNode> {
  const data = join(folder, name);
  const [certificate, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  writeFileSync(certificate, pair.certificate);
  writeFileSync(key, pair.key, { mode: 0o600 });
  const { uid, gid } = postgresUser();
  if (uid !== undefined) chownSync(key, uid, gid!);
  const [toPostgres, toRest, toEtcd] = (await Promise.all(
    [`http://127.0.0.1:${ports.postgres}`, `http://127.0.0.1:${ports.rest}`, etcd].map((url) => startWire(url)),
  )) as [Wire, Wire, Wire];
  const outside = { postgres: new URL(toPostgres.url).host, rest: new URL(toRest.url).host };
  const file = parse(readFileSync(FILE, 'utf8'));
  const settings = {
    ...file,
    name,
    restapi: { listen: `127.0.0.1:${ports.rest}`, connect_address: outside.rest },
    // Without it Patroni goes from the line to the address that etcd names.
    etcd3: { hosts: [new URL(toEtcd.url).host], use_proxies: true },
    bootstrap: { ...file.bootstrap, dcs: { ...file.bootstrap.dcs, ...dcs } },
    postgresql: {
      ...file.postgresql,
      listen: `127.0.0.1:${ports.postgres}`,
      connect_address: outside.postgres,
      data_dir: data,
      pgpass: join(folder, `${name}.pgpass`),
      parameters: {
        ...file.postgresql.parameters,
        ...{ ssl_cert_file: certificate, ssl_key_file: key },
        ...{ unix_socket_directories: '', shared_buffers: '64MB', ...parameters },
      },
      pg_hba: file.postgresql.pg_hba.slice(1).map((line: string) => line.replace('10.0.0.0/24', '127.0.0.1/32')),
    },
    watchdog: { mode: 'off' },
  };
  writeFileSync(join(folder, `${name}.yml`), stringify(settings));
  const url = (database: string) => `postgres://postgres:${PASSWORD}@127.0.0.1:${ports.postgres}/${database}?sslmode=require`;
  const ask = (path: string, request: RequestInit = {}): Promise<Response | null> =>
    fetch(`http://127.0.0.1:${ports.rest}${path}`, {
      ...{ signal: AbortSignal.timeout(2_000), headers: { authorization: `Basic ${btoa(`patroni:${PASSWORD}`)}` } },
      ...request,
    }).catch(() => null);
  const patroni = createPatroni(folder, name);
  const killPostgres = () => killTree(postmasterOf(data));
  process.once('exit', () => void killTree(postmasterOf(data)));
  return {
    name,
    outside,
    url,
    ask,
    isLeader: async () => (await ask('/primary'))?.status === 200 && (await takesWrites(url('postgres'))),
    start: patroni.start,
    killPatroni: patroni.kill,
    killPostgres,
    spoil: async (fault) => void (await Promise.all([toPostgres, toRest, toEtcd].map((wire) => wire.spoil(fault)))),
    log: () => readFileSync(join(folder, `${name}.log`), 'utf8'),
    stop: async () => {
      await patroni.kill();
      await killPostgres();
      await Promise.all([toPostgres, toRest, toEtcd].map((wire) => wire.stop()));
    },
  };
}

/** Patroni's process, which is gone when this process ends. */
function createPatroni(folder: string, name: string): { start(): void; kill(): Promise<void> } {
  let patroni: ChildProcess | null = null;
  process.once('exit', () => void patroni?.kill('SIGKILL'));
  return {
    start: () => {
      const log = openSync(join(folder, `${name}.log`), 'a');
      patroni = spawn(installed('patroni')!, [join(folder, `${name}.yml`)], {
        ...postgresUser(),
        cwd: '/',
        stdio: ['ignore', log, log],
        env: {
          PATH: process.env.PATH ?? '',
          PATRONI_SUPERUSER_PASSWORD: PASSWORD,
          PATRONI_REPLICATION_PASSWORD: PASSWORD,
          PATRONI_REWIND_PASSWORD: PASSWORD,
          PATRONI_RESTAPI_USERNAME: 'patroni',
          PATRONI_RESTAPI_PASSWORD: PASSWORD,
        },
      });
    },
    kill: async () => {
      if (patroni === null || patroni.exitCode !== null || patroni.signalCode !== null) return;
      patroni.kill('SIGKILL');
      await once(patroni, 'exit');
    },
  };
}

async function takesWrites(url: string): Promise<boolean> {
  const sql = connect(url, { max: 1, connectWithinSeconds: 2 });
  try {
    const [row] = await sql`select pg_is_in_recovery() as waits`;
    return row?.waits === false;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function postmasterOf(data: string): number | null {
  try {
    return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return null;
  }
}

/** The parent of a process; null when the process is gone. */
function parentOf(pid: number): number | null {
  try {
    // Behind the name in parentheses stand the state and the parent.
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return null;
  }
}

/** Kills a server with all processes that it began. Resolves when they are gone. */
async function killTree(postmaster: number | null): Promise<void> {
  if (postmaster === null || parentOf(postmaster) === null) return;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === postmaster);
  const all = [postmaster, ...children];
  for (const pid of all) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
  while (all.some((pid) => isAlive(pid))) await delay(20);
}

/** Whether it runs: a zombie does not. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
