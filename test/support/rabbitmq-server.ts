/** A real RabbitMQ on free ports and in a folder of its own: own node name, own epmd, no plugins, under any user. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Broker, type Child, freePorts, installed, startChild } from './broker-process.ts';
import type { Pair } from './certificates.ts';
import { holdStill } from './hold-still.ts';

/** Not the wrapper in /usr/sbin: that one becomes another user and works in the machine's own folders. */
const SCRIPTS = '/usr/lib/rabbitmq/bin';
const EPMD = installed('epmd');

/** Why tests with it cannot run here; null when they can. */
export const noRabbit: string | null =
  EPMD !== null && existsSync(join(SCRIPTS, 'rabbitmq-server'))
    ? null
    : 'rabbitmq-server is not installed here (Debian: apt-get install --no-install-recommends rabbitmq-server)';

/** The largest message it takes. */
export const MOST_BYTES = 300_000;
/** A user who may write to `amq.topic` and nothing else, with a password full of what an address has to escape. */
export const WRITER = { name: 'writer', password: 'p@ss/w:rd%å' };

const SALT = Buffer.from('salt');
const DEFINITIONS = {
  users: [
    { name: 'guest', password_hash: hashed('guest'), tags: ['administrator'] },
    { name: WRITER.name, password_hash: hashed(WRITER.password), tags: [] },
  ],
  vhosts: [{ name: '/' }],
  permissions: [
    { user: 'guest', vhost: '/', configure: '.*', write: '.*', read: '.*' },
    { user: WRITER.name, vhost: '/', configure: '^$', write: '^amq\\.topic$', read: '^$' },
  ],
};

/** As RabbitMQ keeps a password. */
function hashed(password: string): string {
  const digest = createHash('sha256').update(SALT).update(password).digest();
  return Buffer.concat([SALT, digest]).toString('base64');
}

export interface RabbitServer extends Broker {
  /** The same with TLS; only with a certificate. */
  readonly tlsUrl: string;
  /** Runs `rabbitmqctl` with these arguments. It takes seconds. */
  control(...args: readonly string[]): Promise<string>;
}

/**
 * Starts one; `guest` may do everything. With a certificate (of `localhost`) it takes TLS connections as well, with
 * `clientsOf` (an authority, in PEM) only of clients that show a certificate of it.
 */
export async function startRabbitServer({ tls, clientsOf }: { tls?: Pair; clientsOf?: string } = {}): Promise<RabbitServer> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-rabbitmq-'));
  const [port, tlsPort, between, epmdPort] = (await freePorts(4)) as [number, number, number, number];
  for (const name of ['home', 'data', 'log']) mkdirSync(join(folder, name));
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  write('plugins', '[].\n');
  write(
    'rabbitmq.conf',
    [
      `listeners.tcp.1 = 127.0.0.1:${port}`,
      'log.console = true',
      'log.console.level = info',
      'log.file = false',
      ...(tls === undefined
        ? []
        : [
            `listeners.ssl.1 = 127.0.0.1:${tlsPort}`,
            `ssl_options.certfile = ${write('certificate.pem', tls.certificate)}`,
            `ssl_options.keyfile = ${write('key.pem', tls.key)}`,
            ...(clientsOf === undefined
              ? []
              : [
                  `ssl_options.cacertfile = ${write('ca.pem', clientsOf)}`,
                  'ssl_options.verify = verify_peer',
                  'ssl_options.fail_if_no_peer_cert = true',
                ]),
          ]),
      `max_message_size = ${MOST_BYTES}`,
      `load_definitions = ${write('definitions.json', JSON.stringify(DEFINITIONS))}`,
    ].join('\n'),
  );
  const pidFile = join(folder, 'pid');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: join(folder, 'home'),
    LANG: 'C.UTF-8',
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(epmdPort),
    RABBITMQ_NODENAME: `purchase-watch-${port}@localhost`,
    RABBITMQ_DIST_PORT: String(between),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_PID_FILE: pidFile,
    // Its epmd is started below, as a child that is known by its id; Erlang would start one that stays.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-start_epmd false',
  };
  const epmd = startChild(EPMD!, [], env);
  let child: Child;
  /** The broker itself: the child is a script that started it. */
  let pid = 0;
  const end = (): void => {
    if (pid !== 0) process.kill(pid, 'SIGKILL');
  };
  const start = async (): Promise<void> => {
    child = startChild(join(SCRIPTS, 'rabbitmq-server'), [], env);
    await child.says('Server startup complete');
    pid = Number(readFileSync(pidFile, 'utf8'));
    process.once('exit', end);
  };
  const kill = async (): Promise<void> => {
    end();
    pid = 0;
    process.off('exit', end);
    await child.ended;
  };
  const stop = async (): Promise<void> => {
    await kill();
    epmd.process.kill('SIGKILL');
    await epmd.ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const control = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(join(SCRIPTS, 'rabbitmqctl'), ['--quiet', ...args], { env, cwd: folder });
    return stdout;
  };
  await start();
  return {
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    tlsUrl: `amqps://guest:guest@localhost:${tlsPort}`,
    start,
    kill,
    pause: () => holdStill(pid),
    resume: () => void process.kill(pid, 'SIGCONT'),
    stop,
    control,
  };
}
