/** Where benches run: one Postgres, one stand-in service, a process for each part, and a database for each bench. */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Sql } from '../src/postgres/connection/database.ts';
import { type EmbeddedPostgres, startEmbedded } from '../src/postgres/embedded/embedded.ts';
import { migrate } from '../src/postgres/migrations/migrate.ts';
import { syncSites } from '../src/postgres/polling/sites.ts';
import { MACHINE_DIR } from '../test/support/machine.ts';
import { type PostgresCpu, postgresCpu } from './postgres-cpu.ts';
import type { DaemonSettings } from './processes/daemon.ts';
import type { Reply, Usage } from './processes/messages.ts';

export const SECRET = 'whsec_YmVuY2gtYmVuY2gtYmVuY2gtYmVuY2gtYmVuY2g=';
/** In flight, for the loop that polls or sends. */
export const IN_FLIGHT = 64;
const PARTS = {
  service: new URL('./processes/service.ts', import.meta.url),
  receiver: new URL('./processes/receiver.ts', import.meta.url),
  producer: new URL('./processes/producer.ts', import.meta.url),
  daemon: new URL('./processes/daemon.ts', import.meta.url),
  'bare-polls': new URL('./processes/bare-polls.ts', import.meta.url),
  'bare-change': new URL('./processes/bare-change.ts', import.meta.url),
  'bare-send': new URL('./processes/bare-send.ts', import.meta.url),
};
export type PartName = keyof typeof PARTS;

/** A process of its own that is asked by name. */
export interface Part {
  ask<T>(name: string, argument?: unknown): Promise<T>;
  usage(): Promise<Usage>;
  /** Holds it still while another one is measured; the same process goes on afterwards, warm as it was. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
  /** Ends it as a crash does (SIGKILL). */
  kill(): Promise<void>;
}

export interface Database {
  readonly url: string;
  readonly sql: Sql;
  /** Transactions of all its sessions so far, exact to about a second of work: sessions hand in their counts so often. */
  transactions(): Promise<number>;
  drop(): Promise<void>;
}

export interface Lab {
  readonly service: Part;
  readonly serviceUrl: string;
  /** Goes away with the lab. */
  readonly folder: string;
  readonly postgres: PostgresCpu;
  /** A part of the lab by its name, or another process by its file. */
  start(part: PartName | URL): Promise<Part>;
  /** A fresh database with the schema and the site named default; without a schema, `empty`. */
  database(options?: { readonly empty?: boolean }): Promise<Database>;
  /** A daemon on a database, started, with the time that took. `file`: the process of another commit. */
  daemon(database: Database, options: DaemonOptions): Promise<{ daemon: Part; readyMs: number }>;
  close(): Promise<void>;
}

interface DaemonOptions {
  readonly every: number | null;
  readonly env?: Record<string, string>;
  readonly api?: boolean;
  readonly file?: URL;
}

const MIGRATIONS = join(import.meta.dirname, '../migrations');
/** How `start` sets glibc and V8. */
const MEMORY = JSON.parse(readFileSync(join(import.meta.dirname, '../bin/memory.json'), 'utf8')) as {
  readonly flags: string[];
  readonly settings: Readonly<Record<string, string>>;
};
const NO_MEMORY: typeof MEMORY = { flags: [], settings: {} };
const STOP_WITHIN = 10_000;

/** Opens the lab: on the Postgres at `databaseUrl`, or on an embedded one in a folder that goes away afterwards. */
export async function openLab(databaseUrl: string | null): Promise<Lab> {
  const folder = mkdtempSync(join(tmpdir(), 'pw-bench-'));
  chmodSync(folder, 0o755);
  const log = openSync(join(folder, 'daemons.log'), 'a');
  const parts = new Set<Part>();
  const databases = new Set<Database>();
  let embedded: EmbeddedPostgres | null = null;
  let admin: Sql | null = null;

  const start = async (name: PartName | URL, memory = NO_MEMORY): Promise<Part> => {
    const part = await startPart(name instanceof URL ? name : PARTS[name], memory, log, () => parts.delete(part));
    parts.add(part);
    return part;
  };
  const close = async (): Promise<void> => {
    await Promise.all([...parts].map((part) => part.stop()));
    for (const database of databases) await database.drop();
    await admin?.end();
    await embedded?.stop();
    rmSync(folder, { recursive: true, force: true });
  };

  try {
    embedded = databaseUrl === null ? await startEmbedded({ dataDir: join(folder, 'data') }) : null;
    const serverUrl = databaseUrl ?? embedded!.superuserUrl;
    const root = connect(serverUrl, { max: 1, name: 'bench' });
    admin = root;
    const service = await start('service');
    const serviceUrl = await service.ask<string>('url');
    return {
      service,
      serviceUrl,
      folder,
      postgres: await postgresCpu(root),
      start,
      database: async ({ empty = false } = {}) => {
        const name = `pw_bench_${randomBytes(4).toString('hex')}`;
        await root`create database ${root(name)}`;
        const url = new URL(serverUrl);
        url.pathname = `/${name}`;
        const sql = connect(url.href, { max: 3, name: 'bench' });
        const database: Database = {
          url: url.href,
          sql,
          transactions: async () => {
            // Asked from another database, so that asking does not count.
            const [row] = await root<[{ count: number }]>`
              select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = ${name}`;
            return row.count;
          },
          drop: async () => {
            databases.delete(database);
            await sql.end({ timeout: 1 });
            await root`drop database if exists ${root(name)} with (force)`;
          },
        };
        databases.add(database);
        if (empty) return database;
        await migrate(sql, MIGRATIONS);
        await syncSites(sql, ['default']);
        return database;
      },
      daemon: async (database, { every, env = {}, api = false, file }) => {
        const daemon = await start(file ?? 'daemon', MEMORY);
        const settings: DaemonSettings = {
          ...{ every, api, isBuilt: file === undefined },
          env: { ...environment(database.url, serviceUrl), PORT: '0', ...env },
        };
        return { daemon, readyMs: await daemon.ask<number>('start', settings) };
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Settings of a daemon that delivers all events to a receiver of the lab. */
export async function webhookTo(receiver: Part): Promise<Record<string, string>> {
  return { WEBHOOK_URL: await receiver.ask<string>('url'), WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' };
}

function environment(databaseUrl: string, serviceUrl: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: MACHINE_DIR,
    CHECKOUT_BASE_URL: serviceUrl,
    CHECKOUT_CLIENT_ID: 'bench',
    CHECKOUT_CLIENT_SECRET: 'bench',
    CHECKOUT_MAX_RPS: '1000000',
    CHECKOUT_CONCURRENCY: String(IN_FLIGHT),
    // Longer than a daemon is ever held still: calls on their way must not seem to have failed.
    CHECKOUT_TIMEOUT: '60s',
  };
}

async function startPart(file: URL, { flags, settings }: typeof MEMORY, log: number, onEnd: () => void): Promise<Part> {
  // A bench must not see the settings of the person who runs it.
  const env = { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS ?? '', ...settings };
  const child: ChildProcess = fork(file, { stdio: ['ignore', log, 'inherit', 'ipc'], env, execArgv: flags });
  const asked = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  let stopping = false;
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  child.on('message', ({ id, result, error }: Reply) => {
    if (id === 0) return ready.resolve();
    const waiting = asked.get(id);
    asked.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  });
  child.on('exit', (code, signal) => {
    const error = new Error(`${file.pathname} ended (${signal ?? code})`);
    if (!stopping) ready.reject(error);
    for (const { reject } of asked.values()) reject(error);
    ended.resolve();
    onEnd();
  });
  await ready.promise;
  const part: Part = {
    ask: (name, argument) =>
      new Promise((resolve, reject) => {
        last += 1;
        asked.set(last, { resolve: resolve as (value: unknown) => void, reject });
        // With a callback, a process that has ended fails this call in place of the bench, which then stops the others.
        child.send({ id: last, name, argument }, (error) => error !== null && reject(error));
      }),
    usage: () => part.ask<Usage>('usage'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop: async () => {
      stopping = true;
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await Promise.race([ended.promise, delay(STOP_WITHIN, undefined, { ref: false })]);
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended.promise;
    },
    kill: async () => {
      stopping = true;
      child.kill('SIGKILL');
      await ended.promise;
    },
  };
  return part;
}
