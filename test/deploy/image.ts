/** The image that the Dockerfile makes, on a base made of Debian's packages as `node:*-bookworm-slim` is, and containers of it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { installed } from '../support/broker-process.ts';
import { type Outcome, outcomeOf, run } from './programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const TOOLS = ['podman', 'runc', 'mmdebstrap'];
const missing = TOOLS.filter((name) => installed(name) === null);

/** Why an image cannot be built here; null when it can. */
export const noImage: string | null =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'an image is built by root on Linux only'
    : missing.length === 0
      ? null
      : `${missing.join(', ')} not installed here (Debian: apt-get install --no-install-recommends ${missing.join(' ')})`;

export interface Container {
  /** Runs a program of the image in it. */
  exec(command: readonly string[], env?: Record<string, string>): Promise<Outcome>;
  /** Runs the health check of the image as an orchestrator does. */
  health(): Promise<Outcome>;
  /** A template of `podman inspect`. */
  inspect(template: string): Promise<string>;
  signal(name: string): Promise<void>;
  /** Ends it as `docker stop` does; answers its exit code. */
  stop(): Promise<number>;
  logs(): Promise<string>;
  /** Paths below its root that differ from the image. */
  written(): Promise<string[]>;
}

export interface Image {
  /** Bytes. */
  readonly size: number;
  /** Every path in it. */
  readonly files: readonly string[];
  /** A template of `podman image inspect`. */
  inspect(template: string): Promise<string>;
  /** Starts one as docs/deploying.md says: read-only, without capabilities, on this machine's network. */
  run(env: Record<string, string>, command?: readonly string[]): Promise<Container>;
  /** Runs one to its end. */
  outcome(env: Record<string, string>, command?: readonly string[]): Promise<Outcome>;
  /** Removes it, with all containers. */
  remove(): Promise<void>;
}

const HARDENED = [
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
  '--network=host',
];
/** Podman asks for more than a machine may allow. */
const LIMITS = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];

export async function buildImage(): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-image-'));
  const base = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--runtime', 'runc'];
  const podman = (args: readonly string[]): Promise<string> => run('podman', [...base, ...args]);
  const tried = (args: readonly string[]): Promise<Outcome> => outcomeOf('podman', [...base, ...args]);
  const remove = async (): Promise<void> => {
    await podman(['rm', '--all', '--force', '--time=0']);
    await podman(['image', 'rm', '--all', '--force']);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await importBase(folder, podman);
    // Without namespaces, which a machine of tests may not allow within its own: `run` has them.
    const flags = [
      '--layers=false',
      '--isolation=chroot',
      '--network=host',
      '--format=docker',
      `--volume=${npm('cache')}:/root/.npm`,
    ];
    await podman(['build', ...flags, '--build-arg=NODE_IMAGE=localhost/node', '--tag=purchase-watch', ROOT]);
  } catch (error) {
    await remove();
    throw error;
  }
  const inspect = (template: string): Promise<string> => podman(['image', 'inspect', '--format', template, 'purchase-watch']);
  const mounted = await podman(['image', 'mount', 'purchase-watch']);
  const files = (await run('find', [mounted, '-printf', '/%P\\n'])).split('\n');
  await podman(['image', 'unmount', 'purchase-watch']);
  const started = (env: Record<string, string>, command: readonly string[]): string[] => [
    ...[...HARDENED, ...LIMITS, ...Object.entries(env).map(([name, value]) => `--env=${name}=${value}`)],
    ...['purchase-watch', ...command],
  ];
  return {
    size: Number(await inspect('{{.Size}}')),
    files,
    inspect,
    run: async (env, command = []) => {
      const id = await podman(['create', ...started(env, command)]);
      await podman(['start', id]);
      return containerOf(id, podman, tried);
    },
    outcome: (env, command = []) => tried(['run', '--rm', '--no-healthcheck', ...started(env, command)]),
    remove,
  };
}

type Podman = (args: readonly string[]) => Promise<string>;

function containerOf(id: string, podman: Podman, tried: (args: readonly string[]) => Promise<Outcome>): Container {
  const inspect = (template: string): Promise<string> => podman(['container', 'inspect', '--format', template, id]);
  return {
    inspect,
    exec: (command, env = {}) => {
      const set = Object.entries(env).map(([name, value]) => `--env=${name}=${value}`);
      return tried(['exec', ...set, id, ...command]);
    },
    health: () => tried(['healthcheck', 'run', id]),
    signal: async (name) => void (await podman(['kill', `--signal=${name}`, id])),
    stop: async () => {
      await podman(['stop', '--time=10', id]);
      return Number(await inspect('{{.State.ExitCode}}'));
    },
    logs: async () => (await tried(['logs', id])).output,
    written: async () => (await podman(['diff', id])).split('\n').filter((line) => line !== ''),
  };
}

/** Debian with this repository's Node.js and npm where the official image has them. Images come from registries, which a machine of tests need not reach. */
async function importBase(folder: string, podman: Podman): Promise<void> {
  const archive = join(folder, 'base.tar');
  const hooks = [
    'mkdir -p "$1/usr/local/bin" "$1/usr/local/lib/node_modules"',
    `cp '${join(ROOT, `node_modules/node-linux-${arch()}/bin/node`)}' "$1/usr/local/bin/node"`,
    `cp -r '${join(realpathSync(installed('npm')!), '../..')}' "$1/usr/local/lib/node_modules/npm"`,
    'ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"',
    // The same mirrors, and whom this machine trusts.
    'cp -r /etc/apt/apt.conf.d /etc/apt/sources.list.d "$1/etc/apt/"',
    'if [ -e /etc/apt/sources.list ]; then cp /etc/apt/sources.list "$1/etc/apt/"; else : >"$1/etc/apt/sources.list"; fi',
    'cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"',
  ];
  const flags = ['--quiet', '--variant=minbase', '--mode=root', '--include=libatomic1,ca-certificates'];
  await run('mmdebstrap', [...flags, ...hooks.map((hook) => `--customize-hook=${hook}`), 'bookworm', archive]);
  const variables = { npm_config_registry: npm('registry'), NODE_EXTRA_CA_CERTS: '/etc/ssl/certs/ca-certificates.crt' };
  const changes = Object.entries(variables).map(([name, value]) => `--change=ENV ${name}=${value}`);
  await podman(['import', ...changes, archive, 'localhost/node']);
  rmSync(archive);
}

const npm = (setting: string): string => execFileSync('npm', ['config', 'get', setting], { cwd: ROOT, encoding: 'utf8' }).trim();
