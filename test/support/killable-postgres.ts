/** A Postgres of a test's own that the test can kill and start again over the same data: Debian's server. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../../src/postgres/connection/database.ts';
import { freePorts } from './broker-process.ts';

const SERVER = '/usr/lib/postgresql/15/bin';
/** Debian's postgresql-15 is installed. */
export const canKillPostgres = existsSync(join(SERVER, 'postgres'));

export interface KillablePostgres {
  /** A superuser's address; the database is empty at first. */
  readonly url: string;
  /** The folder with its data. */
  readonly data: string;
  /** Ends the server at once, as a power cut does. */
  kill(): Promise<void>;
  /** Starts the server again after `kill`; it recovers. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** For `spawn`: Debian's user, because Postgres does not run as root; the user who runs the tests where that is not root. */
export function postgresUser(): { readonly uid?: number; readonly gid?: number } {
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
}

export async function startKillablePostgres(more: readonly string[] = []): Promise<KillablePostgres> {
  if (!canKillPostgres) throw new Error(`install Debian's postgresql-15: there is no ${SERVER}`);
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-killable-'));
  const user = postgresUser();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '--locale=C', '-E', 'UTF8', '--no-sync'];
  execFileSync(join(SERVER, 'initdb'), initdb, { ...user, cwd: '/', stdio: 'ignore' });
  const [port] = (await freePorts(1)) as [number];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...more];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  /** Sessions of a server that was killed end a moment later, and until then no other server starts. */
  const serve = async () => {
    for (;;) {
      const server = spawn(join(SERVER, 'postgres'), args, { ...user, cwd: '/', stdio: 'ignore' });
      const sql = connect(url, { max: 1 });
      try {
        while (server.exitCode === null) {
          const answers = await sql`select 1`.then(
            () => true,
            () => false,
          );
          if (answers && server.exitCode === null) return server;
          await delay(50);
        }
      } finally {
        await sql.end({ timeout: 0 });
      }
      await delay(200);
    }
  };
  let server = await serve();
  const end = async (signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill(signal);
    await once(server, 'exit');
  };
  return {
    url,
    data,
    kill: () => end('SIGKILL'),
    restart: async () => {
      server = await serve();
    },
    stop: async () => {
      await end('SIGQUIT');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
