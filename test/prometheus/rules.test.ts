import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { metricFamilies } from '../../src/api/metrics/gather-families.ts';
import { createHealth } from '../../src/runtime/loops/health.ts';
import { createMeters } from '../../src/runtime/meters.ts';
import { METRIC } from './recording.ts';
import { SCENARIOS } from './scenarios.ts';

const ROOT = join(import.meta.dirname, '../..');
const TESTS = join(ROOT, 'deploy/prometheus/tests');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
const rulesOf = (file: string): Rule[] =>
  parse(readFileSync(join(ROOT, 'deploy/prometheus', file), 'utf8')).groups.flatMap((group: { rules: Rule[] }) => group.rules);
const rules = rulesOf('rules.yml');
const all = [...rules, ...rulesOf('incidents.yml')];
const recordings = readdirSync(TESTS).sort();

/** The labels of every family, by its name. */
function known(): Map<string, readonly string[]> {
  const engine = { meters: createMeters(), shardsOwned: () => 0, unwritten: () => 0, pools: [], certificates: () => [] };
  const families = metricFamilies({
    version: '1',
    health: createHealth(() => 0),
    engine,
    keys: [],
    reading: () => ({ answers: false, numbers: null }),
  });
  return new Map(families.map(({ name, labels }) => [name, labels]));
}

test('each rule says how grave it is, what is wrong, and where its runbook is', () => {
  const runbooks = readFileSync(join(ROOT, 'docs/runbooks.md'), 'utf8');
  const sections = [...runbooks.matchAll(/^## (PurchaseWatch\w+)$/gm)].map(([, alert]) => alert!);
  expect(sections.toSorted()).toEqual([...new Set(all.map(({ alert }) => alert))].toSorted());
  for (const { alert, labels, annotations } of all) {
    expect(['critical', 'warning'], alert).toContain(labels.severity);
    expect(Object.keys(annotations), alert).toEqual(['summary', 'description', 'runbook_url']);
    expect(annotations.runbook_url).toBe(`https://purchase-watch.example/docs/runbooks.html#${alert.toLowerCase()}`);
  }
});

test('each alert fires in what was recorded of a real fault, and ends when the fault is mended', () => {
  expect(recordings).toEqual(
    Object.keys(SCENARIOS)
      .map((name) => `${name}.yml`)
      .toSorted(),
  );
  const phases = recordings.flatMap((name) => parse(readFileSync(join(TESTS, name), 'utf8')).tests[0].promql_expr_test);
  const fired = new Set(
    phases.flatMap(({ exp_samples }) => exp_samples.map((each: { labels: string }) => /"(\w+)"/.exec(each.labels)![1])),
  );
  expect([...fired].toSorted()).toEqual([...new Set(all.map(({ alert }) => alert))].toSorted());
  for (const name of recordings) {
    const { promql_expr_test } = parse(readFileSync(join(TESTS, name), 'utf8')).tests[0];
    expect([promql_expr_test[0].exp_samples, promql_expr_test.at(-1).exp_samples], name).toEqual([[], []]);
  }
});

test('rules and recordings name metrics and labels as the daemon does', () => {
  const families = known();
  const named = all.flatMap(({ expr }) => [...expr.matchAll(METRIC)].map(([name]) => name));
  expect(named.filter((name) => !families.has(name))).toEqual([]);
  const series = new Set<string>(
    recordings.flatMap((name) =>
      parse(readFileSync(join(TESTS, name), 'utf8')).tests[0].input_series.map((each: { series: string }) => each.series),
    ),
  );
  for (const each of series) {
    const [name = ''] = /^\w+/.exec(each) ?? [];
    if (name === 'up') continue;
    const labels = [...each.matchAll(/(\w+)="/g)].map(([, label]) => label!);
    expect(labels.toSorted(), each).toEqual([...(families.get(name) ?? ['unknown']), 'instance', 'job'].toSorted());
  }
});
