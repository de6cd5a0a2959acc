/**
 * What files of a release repeat: the version of package.json in the image, the manifests, the chart and the docs, and the alert
 * rules in the form that the Prometheus operator takes. Run by itself it writes them.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const NUMBER = String.raw`\d+\.\d+\.\d+(?:-[\w.]+)?`;
const ARCHIVE = new RegExp(`(?<=purchase-watch-)${NUMBER}(?=\\.tgz|')`, 'g');

/** Where the version stands: the file, and what surrounds it. */
const PLACES: readonly (readonly [path: string, version: RegExp])[] = [
  ['Dockerfile', new RegExp(`(?<=image\\.version=")${NUMBER}(?=")`, 'g')],
  ['deploy/compose/compose.yml', new RegExp(`(?<=image: purchase-watch:)${NUMBER}`, 'g')],
  ['deploy/kubernetes/kustomization.yaml', new RegExp(`(?<=newTag: )${NUMBER}`, 'g')],
  ['deploy/helm/purchase-watch/Chart.yaml', new RegExp(`(?<=^(?:version|appVersion): )${NUMBER}`, 'gm')],
  ['docs/deploying.md', new RegExp(`(?<=purchase-watch:)${NUMBER}`, 'g')],
  ...[...pages(), 'test/docs/pages.ts'].map((path) => [path, ARCHIVE] as const),
];

/** Those of the docs that name the archive to install. */
function pages(): string[] {
  const docs = readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`);
  return ['README.md', ...docs].filter((path) => path.endsWith('.md') && read(path).search(ARCHIVE) >= 0);
}

export const RULES = 'deploy/prometheus/rules.yml';
const RULES_OF_OPERATOR = 'deploy/kubernetes/monitoring/prometheus-rule.yaml';

function rulesOfOperator(): string {
  const rules = read(RULES).replace(/^(?=.)/gm, '  ');
  const head = ['apiVersion: monitoring.coreos.com/v1', 'kind: PrometheusRule', 'metadata:', '  name: purchase-watch'];
  return [
    `# Made by npm run manifests from ${RULES}.`,
    ...head,
    '  labels: { app.kubernetes.io/name: purchase-watch }',
    'spec:',
    rules,
  ].join('\n');
}

/** Every such file as it must be, by its path in the repository. Throws when a file no longer names the version. */
export function releaseFiles(): ReadonlyMap<string, string> {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const files = PLACES.map(([path, place]) => {
    const text = read(path);
    if (text.search(place) < 0) throw new Error(`${path} does not name the version any more: see tools/manifests.ts`);
    return [path, text.replace(place, version)] as const;
  });
  return new Map([...files, ...(existsSync(join(ROOT, RULES)) ? [[RULES_OF_OPERATOR, rulesOfOperator()] as const] : [])]);
}

if (import.meta.main) for (const [path, content] of releaseFiles()) writeFileSync(join(ROOT, path), content);
