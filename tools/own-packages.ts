/** Packages that only one bench or one test needs: a folder has a package.json and a lock of its own, and installs them when it is first used. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Installs what the lock of a folder names, unless it is installed. Answers the version of each package that the package.json of
 * the folder names. Throws when npm fails.
 */
export function installOwnPackages(folder: string, say: (line: string) => void): ReadonlyMap<string, string> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };
  const wanted = new Map(Object.entries(manifest.dependencies));
  if ([...wanted].some(([name, version]) => installedVersion(folder, name) !== version)) {
    say(`npm install in ${folder}`);
    // `npm ci` refuses a lock without the packages for other platforms, which some registries lack; `--no-save` keeps the lock as it is.
    execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return wanted;
}

function installedVersion(folder: string, name: string): string | null {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as { version: string };
    return manifest.version;
  } catch {
    return null;
  }
}
