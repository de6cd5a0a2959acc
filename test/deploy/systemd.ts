/** A real systemd, as process 1 of a container that is a copy of this machine: a unit runs there as its file says. */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { arch } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { installed } from '../support/broker-process.ts';
import { type Outcome, outcomeOf, run } from './programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const BOOTED_WITHIN = { timeout: 60_000, interval: 200 };
/** Where the repository is in the container; the unit hides the homes and folders for temporary files, in which a clone may be. */
const INSTALLED = '/opt/purchase-watch';

/** Why it cannot run here; null when it can. */
export const noSystemd: string | null =
  process.platform !== 'linux' || process.getuid?.() !== 0
    ? 'systemd is started by root on Linux only'
    : installed('systemd-nspawn') === null
      ? 'systemd-nspawn is not installed here (Debian: apt-get install --no-install-recommends systemd-container)'
      : null;

export interface Systemd {
  /** Runs a program in the container. */
  call(...command: string[]): Promise<Outcome>;
  /** A property of the unit, as `systemctl show` has it. */
  property(name: string): Promise<string>;
  /** Ends it and removes what it has written. */
  stop(): Promise<void>;
}

export interface Unit {
  readonly name: string;
  readonly file: string;
  /** What the test changes, as a drop-in. */
  readonly dropIn: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts it with one unit, installed as docs/deploying.md says and not started yet. */
export async function startSystemd({ name, file, dropIn, env }: Unit): Promise<Systemd> {
  // Writes go to a layer in memory above the machine's own files.
  const folder = mkdtempSync('/dev/shm/purchase-watch-systemd-');
  const [root, upper, work] = ['root', 'upper', 'work'].map((part) => join(folder, part)) as [string, string, string];
  for (const each of [root, upper, work]) mkdirSync(each);
  await run('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, root]);
  const at = (path: string): string => join(root, path);
  // Services of the machine are not wanted here, nor what a daemon that ran as root left there.
  for (const path of ['etc/systemd/system', 'var/lib/purchase-watch']) rmSync(at(path), { recursive: true, force: true });
  for (const path of [`etc/systemd/system/${name}.d`, 'etc/purchase-watch', INSTALLED]) mkdirSync(at(path), { recursive: true });
  cpSync(file, at(`etc/systemd/system/${name}`));
  writeFileSync(at(`etc/systemd/system/${name}.d/test.conf`), dropIn);
  const lines = Object.entries(env).map(([key, value]) => `${key}=${value}\n`);
  writeFileSync(at('etc/purchase-watch/env'), lines.join(''), { mode: 0o600 });
  for (const [link, target] of [
    ['purchase-watch', 'bin/purchase-watch.mjs'],
    ['node', `node_modules/node-linux-${arch()}/bin/node`],
  ] as const) {
    rmSync(at(`usr/local/bin/${link}`), { force: true });
    symlinkSync(`${INSTALLED}/${target}`, at(`usr/local/bin/${link}`));
  }
  const flags = ['--register=no', '--keep-unit', '--quiet', `--directory=${root}`, `--bind-ro=${ROOT}:${INSTALLED}`];
  const container = spawn('systemd-nspawn', [...flags, '--boot', 'systemd.unit=basic.target'], { stdio: 'ignore' });
  const kill = (): void => void container.kill('SIGKILL');
  process.once('exit', kill);
  const ended = new Promise<void>((resolve) => container.once('close', () => resolve()));
  const leader = (): string => readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').trim();
  const call = (...command: string[]): Promise<Outcome> => outcomeOf('nsenter', [`--target=${leader()}`, '--all', ...command]);
  await vi.waitFor(
    async () => expect(await call('systemctl', 'is-active', 'basic.target')).toMatchObject({ code: 0 }),
    BOOTED_WITHIN,
  );
  return {
    call,
    property: async (property) => (await call('systemctl', 'show', '--value', `--property=${property}`, name)).output.trim(),
    stop: async () => {
      container.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
      await run('umount', [root]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
