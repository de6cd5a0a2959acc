/** Manifests of Kubernetes as kubectl gets them: from the kustomization, and from the chart. Checked against the types of its API. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { installOwnPackages } from '../../tools/own-packages.ts';
import { installed } from '../support/broker-process.ts';
import { outcomeOf } from './programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/helm/purchase-watch');
export const SCHEMAS = join(import.meta.dirname, 'schemas');
/** Where Debian puts the sources of Go packages. */
const GO_PACKAGES = '/usr/share/gocode';

const TOOLS = { kubectl: 'kubernetes-client', go: 'golang-go golang-github-masterminds-sprig-dev' };
const missing = Object.entries(TOOLS).filter(([name]) => installed(name) === null);

/** Why manifests cannot be made here; null when they can. */
export const noManifests: string | null =
  missing.length === 0
    ? null
    : `${missing.map(([name]) => name).join(', ')} not installed here (Debian: apt-get install --no-install-recommends ${missing.map(([, name]) => name).join(' ')})`;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another; the compiler checks them in `problemsOf`.
  readonly spec: any;
  readonly data?: Readonly<Record<string, string>>;
}

const read = (yaml: string): Manifest[] => {
  const documents = parseAllDocuments(yaml);
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((each) => {
    if (each.errors.length > 0) throw new Error(`${each.errors}`);
    // A template that is switched off leaves nothing.
    return [each.toJS() as Manifest | null].filter((manifest) => manifest !== null);
  });
};

/** What `kubectl apply -k` would send. */
export function kustomized(folder: string): Manifest[] {
  return read(execFileSync('kubectl', ['kustomize', join(ROOT, folder)], { encoding: 'utf8' }));
}

/** What `helm install shop` would send, with changes of the chart's values. */
export async function rendered(changes: Readonly<Record<string, object | number>> = {}): Promise<Manifest[]> {
  const yaml = (name: string): Record<string, object> => parse(readFileSync(join(CHART, name), 'utf8')) as Record<string, object>;
  const values = yaml('values.yaml');
  for (const [name, change] of Object.entries(changes))
    values[name] = typeof change === 'number' ? (change as never) : { ...values[name], ...change };
  const { appVersion } = yaml('Chart.yaml');
  const context = { Release: { Name: 'shop' }, Values: values, Chart: { AppVersion: appVersion } };
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: GO_PACKAGES, GOFLAGS: '' };
  const child = spawn('go', ['run', join(import.meta.dirname, 'chart/main.go')], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(JSON.stringify({ chart: CHART, context }));
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the chart cannot be rendered: ${errors}`);
  return read(output);
}

/** What the API of Kubernetes, or of the Prometheus operator, would not take: by its types, unknown fields among them, and by its formats. */
export async function problemsOf(manifests: readonly Manifest[]): Promise<string[]> {
  installOwnPackages(SCHEMAS, console.info);
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-manifests-'));
  symlinkSync(join(SCHEMAS, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const file = join(folder, 'manifests.ts');
  const lines = manifests.map((manifest, at) => {
    const { apiVersion, kind } = manifest;
    const name = apiVersion.startsWith('monitoring.coreos.com') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
    return [
      `import { ${kind} as Kind${at}, type I${kind} as Type${at} } from '${name}/${apiVersion}';`,
      `const manifest${at}: Type${at} = ${JSON.stringify(manifest)};`,
      `try { new Kind${at}(manifest${at}).validate(); } catch (error) { console.log('${kind}: ' + (error as Error).message); }`,
    ].join('\n');
  });
  writeFileSync(file, lines.join('\n'));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const flags = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--lib',
    'esnext,dom',
    '--types',
    '',
    '--skipLibCheck',
  ];
  const [types, formats] = await Promise.all([
    outcomeOf(process.execPath, [compiler, ...flags, '--verbatimModuleSyntax', file]),
    outcomeOf(process.execPath, [file]),
  ]);
  rmSync(folder, { recursive: true });
  return `${types.output}\n${formats.output}`.split('\n').filter((line) => line.trim() !== '');
}
