/** The manifests of deploy/kubernetes and of the chart. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { VARIABLE_NAMES } from '../../src/config/schema/variables.ts';
import { RULES } from '../../tools/manifests.ts';
import { kustomized, type Manifest, noManifests, problemsOf, rendered } from './manifests.ts';

/** Another branch of work brings it; without it there is nothing to wrap. */
const hasRules = existsSync(join(import.meta.dirname, '../..', RULES));

if (noManifests !== null) console.warn(`not tested: the manifests: ${noManifests}`);

test.runIf(process.env.CI)('CI makes the manifests', () => expect(noManifests).toBeNull());

const podOf = ({ spec }: Manifest): Manifest => spec.template;
const daemonOf = (manifests: readonly Manifest[]): Manifest => manifests.find(({ kind }) => kind === 'Deployment')!;

describe.skipIf(noManifests !== null).each([
  [
    'the kustomization',
    async () => [...kustomized('deploy/kubernetes'), ...(hasRules ? kustomized('deploy/kubernetes/monitoring') : [])],
  ],
  [
    'the chart',
    () => rendered({ monitoring: { enabled: hasRules, labels: { release: 'prometheus' } }, migrate: { secret: 'owner' } }),
  ],
] as const)('%s', (_name, make) => {
  let manifests: readonly Manifest[];
  let pods: readonly Manifest[];
  beforeAll(async () => {
    manifests = await make();
    pods = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(podOf);
  });

  test('is what Kubernetes takes', async () => {
    const kinds = ['Deployment', 'Job', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'];
    const monitoring = hasRules ? ['PrometheusRule', 'ServiceMonitor'] : [];
    expect(manifests.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...kinds, ...monitoring]));
    expect(await problemsOf(manifests)).toEqual([]);
  });

  test('runs what the image holds, confined, with the memory that was measured', () => {
    expect(pods).toHaveLength(2);
    for (const { spec } of pods) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      const [container] = spec.containers;
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources).toMatchObject({ requests: { memory: expect.any(String) }, limits: { memory: '512Mi' } });
      expect(container.resources.limits.cpu).toBeUndefined();
    }
    expect(pods.map(({ spec }) => spec.containers[0].args ?? ['start'])).toEqual(
      expect.arrayContaining([['start'], ['migrate']]),
    );
  });

  test('asks the daemon for its health where it answers, and stops it in its time', () => {
    const { spec } = podOf(daemonOf(manifests));
    const [{ startupProbe, livenessProbe, readinessProbe, ports }] = spec.containers;
    const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path);
    expect(paths).toEqual(['/healthz', '/healthz', '/readyz']);
    expect(ports).toEqual([{ name: 'http', containerPort: 8080 }]);
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThan(8);
  });

  test('selects the daemons, and never the pod of the migration', () => {
    const [daemon, migration] = [podOf(daemonOf(manifests)), podOf(manifests.find(({ kind }) => kind === 'Job')!)];
    const matches = (selector: Record<string, string>, pod: Manifest): boolean =>
      Object.entries(selector).every(([label, value]) => pod.metadata.labels?.[label] === value);
    for (const { kind, spec } of manifests) {
      const selector = spec?.selector?.matchLabels ?? spec?.selector ?? spec?.podSelector?.matchLabels;
      if (selector === undefined || kind === 'Job') continue;
      expect(matches(selector, daemon), kind).toBe(true);
      // The network policy is for both.
      expect(matches(selector, migration), kind).toBe(kind === 'NetworkPolicy');
    }
  });

  test('sets variables that the daemon knows', () => {
    const set = manifests.flatMap(({ kind, data }) => (kind === 'ConfigMap' ? Object.keys(data!) : []));
    const named = pods.flatMap(({ spec }) => spec.containers[0].env ?? []).map(({ name }: { name: string }) => name);
    const names = [...set, ...named];
    expect(names).toContain('CHECKOUT_BASE_URL');
    for (const name of names) expect(VARIABLE_NAMES).toContain(name);
  });
});

test.skipIf(noManifests !== null)(
  'a field that Kubernetes does not know, and a value that it does not take, are found',
  async () => {
    const [daemon] = kustomized('deploy/kubernetes').filter(({ kind }) => kind === 'Deployment');
    const wrong = structuredClone(daemon!);
    wrong.spec.template.spec.containers[0].livenesProbe = {};
    wrong.spec.template.spec.containers[0].resources.limits.memory = '512 MB';
    const problems = (await problemsOf([wrong])).join('\n');
    expect(problems).toContain('livenesProbe');
    expect(problems).toContain('quantity');
  },
);

test.skipIf(noManifests !== null)('the chart takes its values', async () => {
  const manifests = await rendered({
    replicas: 5,
    networkPolicy: { enabled: false },
    migrate: { enabled: false },
    env: { LOG_LEVEL: 'warn' },
  });
  expect(manifests.map(({ kind }) => kind).sort()).toEqual(['Deployment', 'PodDisruptionBudget', 'Service']);
  const { spec } = daemonOf(manifests);
  expect(spec.replicas).toBe(5);
  expect(spec.template.spec.containers[0].env).toContainEqual({ name: 'LOG_LEVEL', value: 'warn' });
});
