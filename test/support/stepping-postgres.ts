/** A Postgres of a test's own whose clock the test can step: Debian's server with libfaketime in front of its clock. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/postgres/connection/database.ts';

const SERVER = '/usr/lib/postgresql/15/bin';
const LIBRARIES = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((platform) => `/usr/lib/${platform}/faketime/libfaketime.so.1`);

export interface SteppingPostgres {
  /** A superuser's address; the database is empty. */
  readonly url: string;
  /** Sets the server's clock to the machine's clock plus this many seconds. Durations inside the server stay right. */
  step(seconds: number): void;
  stop(): Promise<void>;
}

const library = (): string | undefined => LIBRARIES.find((path) => existsSync(path));

/** Whether this machine has what it takes: Debian's postgresql-15 and libfaketime. */
export function canStep(): boolean {
  return library() !== undefined && existsSync(join(SERVER, 'postgres'));
}

/** The clock of servers that have this environment; the file lies in the folder. Throws with what to install where a part is missing. */
export function steppedClock(folder: string): Pick<SteppingPostgres, 'step'> & { readonly env: Record<string, string> } {
  const preloaded = library();
  if (preloaded === undefined || !canStep())
    throw new Error('this test steps the clock of a Postgres: install postgresql-15 and libfaketime (Debian packages)');
  const offset = join(folder, 'offset');
  chmodSync(folder, 0o755);
  writeFileSync(offset, '+0');
  return {
    env: {
      LD_PRELOAD: preloaded,
      FAKETIME_TIMESTAMP_FILE: offset,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    step: (seconds) => writeFileSync(offset, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`),
  };
}

/** Starts the server. Throws with what to install where a part is missing. */
export async function startSteppingPostgres(): Promise<SteppingPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-clock-'));
  const { env, step } = steppedClock(folder);
  const [data, log] = [join(folder, 'data'), join(folder, 'log')];
  mkdirSync(data);
  const user = serverUser();
  if (user !== null) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, data]);
  execFileSync(join(SERVER, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '--locale=C', '-E', 'UTF8'], {
    ...user,
    cwd: data,
    stdio: 'ignore',
  });
  const port = await freePort();
  const settings = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', fsync: 'off', max_connections: 200 };
  const server = spawn(
    join(SERVER, 'postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      ...user,
      cwd: data,
      stdio: 'ignore',
      env,
    },
  );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`;
  await untilItAnswers(url, () => server.exitCode !== null, log);
  return {
    url,
    step,
    stop: async () => {
      if (server.exitCode === null) {
        server.kill('SIGQUIT');
        await once(server, 'exit');
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Postgres refuses to run as root. */
function serverUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function untilItAnswers(url: string, hasEnded: () => boolean, log: string): Promise<void> {
  const sql = connect(url, { max: 1 });
  try {
    for (const until = performance.now() + 30_000; ; ) {
      const answers = await sql`select 1`.then(
        () => true,
        () => false,
      );
      if (answers) return;
      if (hasEnded() || performance.now() > until) throw new Error(`the test's Postgres does not answer; see ${log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
}
