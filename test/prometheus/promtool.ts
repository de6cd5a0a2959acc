/** Prometheus's own tools, from Debian's packages. */
import { execFileSync } from 'node:child_process';
import { installed } from '../support/broker-process.ts';

/** The path of a program; throws with the package to install. */
export function program(name: string, debianPackage: string): string {
  const path = installed(name);
  if (path === null)
    throw new Error(`${name} is not installed here (Debian: apt-get install --no-install-recommends ${debianPackage})`);
  return path;
}

/** What promtool says; throws with all of it when it finds a fault. */
export function promtool(...args: readonly string[]): string {
  try {
    return execFileSync(program('promtool', 'prometheus'), args, { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`${message}\n${stdout}${stderr}`);
  }
}
