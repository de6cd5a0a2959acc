/** Another commit, unpacked beside this one: its daemon, and how its tables are filled. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What the guard needs of a commit. The files keep these places and functions, so that later commits can be compared with this one. */
export interface Commit {
  /** The process of the daemon, which migrates its database when it starts. */
  readonly daemon: URL;
  readonly seed: Pick<typeof import('../seed.ts'), 'seed' | 'addSilentSubscriber'>;
  readonly outbox: Pick<typeof import('../outbox.ts'), 'fillOutbox'>;
}

const ROOT = join(import.meta.dirname, '../..');
/** Names the commit to compare with: the last release's; a line, `#` begins a comment. */
const NAMED_IN = join(import.meta.dirname, 'commit');

/** The commit that `bench/guard/commit` names. */
export function namedCommit(): string {
  const lines = readFileSync(NAMED_IN, 'utf8').split('\n');
  return lines.map((line) => line.replace(/#.*/, '').trim()).find((line) => line !== '') ?? '';
}

/** The hash of a revision; null when this repository does not have the commit, as after a shallow clone, or there is no repository. */
export function hashOf(revision: string): string | null {
  try {
    const wanted = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
    return execFileSync('git', wanted, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  } catch {
    return null;
  }
}

/** The commit that is checked out, with what was changed since. */
export function present(): Promise<Commit> {
  return commitIn(ROOT);
}

/** Unpacks a commit into a folder that does not exist yet, with the packages of its lock. Throws what git or npm printed. */
export async function unpack(hash: string, folder: string): Promise<Commit> {
  mkdirSync(folder);
  const archive = join(folder, 'commit.tar');
  execFileSync('git', ['archive', '--format=tar', '--output', archive, hash], { cwd: ROOT });
  execFileSync('tar', ['-xf', archive], { cwd: folder });
  const isSameLock = readFileSync(join(folder, 'package-lock.json')).equals(readFileSync(join(ROOT, 'package-lock.json')));
  if (isSameLock) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  else
    execFileSync('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  return commitIn(folder);
}

async function commitIn(root: string): Promise<Commit> {
  const file = (path: string): URL => pathToFileURL(join(root, path));
  return {
    daemon: file('bench/processes/daemon.ts'),
    seed: await import(file('bench/seed.ts').href),
    outbox: await import(file('bench/outbox.ts').href),
  };
}
