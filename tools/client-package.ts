/**
 * The package purchase-watch-client: what a shop imports, from the same source as the daemon and with its version. Run by itself it
 * writes the archive into the folder that it is given, or into the current one.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { readImports } from './rooms.ts';

const ROOT = join(import.meta.dirname, '..');
const OWN = join(ROOT, 'packages/client');
const ENTRY = 'packages/client/src/index.ts';
/** Files of docs that the package exports. */
const SCHEMAS = ['events.schema.json', 'alerts.schema.json'];
/** Beside the compiled client, by the path in the repository. */
const COPIED = ['packages/client/README.md', 'LICENSE', ...SCHEMAS.map((name) => `docs/${name}`)];

type Versions = Readonly<Record<string, string>>;

interface ClientManifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Versions;
  readonly optionalDependencies: Versions;
}

/** Writes the package's files into a folder, which npm can pack. Rejects with what the compiler says when the source does not compile. */
export async function writeClientPackage(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [compiler, '-p', OWN, '--outDir', join(folder, 'dist')]);
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path.slice(path.lastIndexOf('/') + 1)));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(clientManifest(), null, 2)}\n`);
}

/** The package.json: what packages/client says, and version, licence and dependencies as the daemon's package has them. */
export function clientManifest(): ClientManifest {
  const daemon = readJson(join(ROOT, 'package.json')) as ClientManifest & {
    readonly license: string;
    readonly engines: Versions;
  };
  const { name, exports, ...own } = readJson(join(OWN, 'package.json')) as Pick<ClientManifest, 'name' | 'exports'>;
  const { version, license, engines } = daemon;
  const imported = importedPackages();
  const needed = (versions: Versions) => Object.fromEntries(Object.entries(versions).filter(([each]) => imported.has(each)));
  return {
    ...{ name, version, license, engines, ...own },
    exports: { ...exports, ...Object.fromEntries(SCHEMAS.map((each) => [`./${each}`, `./${each}`])) },
    ...{ dependencies: needed(daemon.dependencies), optionalDependencies: needed(daemon.optionalDependencies) },
  };
}

/** Whatever the client and the files that it needs import and is not ours. */
function importedPackages(): ReadonlySet<string> {
  const importsOf = Map.groupBy(readImports(), ({ file }) => file);
  const files = new Set([ENTRY]);
  const packages = new Set<string>();
  // A set's loop goes on with what is added meanwhile.
  for (const file of files) {
    for (const { target, isOurs } of importsOf.get(file) ?? []) (isOurs ? files : packages).add(target);
  }
  return packages;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

if (import.meta.main) {
  const destination = resolve(process.argv[2] ?? '.');
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-client-'));
  try {
    await writeClientPackage(folder);
    const { stdout } = await promisify(execFile)('npm', ['pack', '--pack-destination', destination], { cwd: folder });
    console.info(join(destination, stdout.trim()));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
