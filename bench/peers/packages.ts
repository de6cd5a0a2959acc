/** The packages of the peers: installed here, in this folder, when the bench runs for the first time. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = import.meta.dirname;
const read = (path: string): string => readFileSync(join(FOLDER, path), 'utf8');

/** Installs what the lock names unless it is installed; answers the version of each package that package.json names. */
export function installPeers(say: (line: string) => void): ReadonlyMap<string, string> {
  const wanted = new Map(
    Object.entries((JSON.parse(read('package.json')) as { dependencies: Record<string, string> }).dependencies),
  );
  if ([...wanted].some(([name, version]) => installed(name) !== version)) {
    say(`installing the peers: npm install in ${FOLDER}`);
    // `npm ci` refuses a lock without the packages for other platforms, which some registries lack; `--no-save` keeps the lock as it is.
    execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], {
      cwd: FOLDER,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return wanted;
}

function installed(name: string): string | null {
  try {
    return (JSON.parse(read(`node_modules/${name}/package.json`)) as { version: string }).version;
  } catch {
    return null;
  }
}
