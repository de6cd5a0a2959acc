/** The package as its users have it: built, with the declarations that are published, and importable by name. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { promisify } from 'node:util';
import { writeClientPackage } from '../../tools/client-package.ts';
import { installOwnPackages } from '../../tools/own-packages.ts';
import { ROOT } from './examples.ts';

const execute = promisify(execFile);
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
/** What examples import beside the package. */
const NEIGHBOURS = ['@nats-io', 'amqplib', 'hono', 'postgres', 'standardwebhooks', '@types/node', 'undici-types'];
/** Where the packages are that only examples import: 42 MB that no other test needs. */
const ORMS = join(import.meta.dirname, 'orms');

export interface UserProject {
  readonly folder: string;
  /** Type checks files of the project; answers the complaints. */
  check(files: readonly string[], options?: readonly string[]): Promise<string>;
  /** Runs a file of the project to its end; answers what it wrote. */
  run(file: string, env: Readonly<Record<string, string>>): Promise<string>;
}

/** Makes a project that has purchase-watch and purchase-watch-client installed. */
export async function createUserProject(folder: string): Promise<UserProject> {
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'purchase-watch');
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  copyFileSync(join(ROOT, 'package.json'), join(installed, 'package.json'));
  await tsc(['-p', join(ROOT, 'tsconfig.client.json'), '--emitDeclarationOnly', 'false', '--outDir', join(installed, 'dist')]);
  keepPublishedDeclarations(installed);
  const client = join(modules, 'purchase-watch-client');
  await writeClientPackage(client);
  keepPublishedDeclarations(client);
  // Their dependencies, where npm would put them.
  for (const place of [installed, client]) symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'));
  const orms = [...installOwnPackages(ORMS, console.info).keys()];
  for (const [place, names] of [
    [ROOT, NEIGHBOURS],
    [ORMS, orms],
  ] as const) {
    for (const name of names) {
      mkdirSync(join(modules, name, '..'), { recursive: true });
      symlinkSync(join(place, 'node_modules', name), join(modules, name));
    }
  }
  return {
    folder,
    check: (files, options = []) =>
      tsc([...files, '--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', ...options], folder),
    run: async (file, env) => {
      const { stdout } = await execute(process.execPath, [file], {
        cwd: folder,
        env: { PATH: process.env.PATH ?? '', ...env },
        timeout: 60_000,
      });
      return stdout;
    },
  };
}

/** What the compiler complains of; nothing when all is well. */
async function tsc(args: readonly string[], cwd = ROOT): Promise<string> {
  try {
    await execute(process.execPath, [TSC, ...args], { cwd });
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
}

/** As `files` of package.json leaves them in the package. */
function keepPublishedDeclarations(installed: string): void {
  const { files } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { files: string[] };
  const kept = files.filter((pattern) => pattern.endsWith('.d.ts') && !pattern.startsWith('!'));
  for (const name of readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })) {
    const isKept = kept.some((pattern) => matchesGlob(`dist/${name}`, pattern));
    if (name.endsWith('.d.ts') && !isKept) rmSync(join(installed, 'dist', name));
  }
}
