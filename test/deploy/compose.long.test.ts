/** deploy/compose: what Docker, Prometheus and the daemon would refuse. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadSettings } from '../../src/config/load-settings.ts';
import { VARIABLE_NAMES } from '../../src/config/schema/variables.ts';
import { installOwnPackages } from '../../tools/own-packages.ts';
import { installed } from '../support/broker-process.ts';
import { SCHEMAS } from './manifests.ts';
import { outcomeOf } from './programs.ts';

const FOLDER = join(import.meta.dirname, '../../deploy/compose');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
}
const compose = parse(read('compose.yml')) as { services: Readonly<Record<string, Service>> };

/** Files that another branch of work brings. */
const FROM_ELSEWHERE = ['../prometheus/rules.yml', '../grafana'];

const schemaCheck = () => {
  installOwnPackages(SCHEMAS, console.info);
  const schema = JSON.parse(readFileSync(join(SCHEMAS, 'node_modules/dclint/schemas/compose.schema.json'), 'utf8')) as object;
  const ajv = new Ajv({ allErrors: true, strict: false, validateSchema: false });
  addFormats.default(ajv);
  return ajv.compile({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' });
};

test('is a Compose file', () => {
  const check = schemaCheck();
  check(compose);
  expect(check.errors).toBeNull();
  expect(check({ services: { shop: { imagee: 'shop' } } })).toBe(false);
});

test('mounts files that are there', () => {
  const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0]!));
  const files = mounted.filter((path) => path.startsWith('.'));
  expect(files.length).toBeGreaterThan(4);
  expect(files.filter((path) => !FROM_ELSEWHERE.includes(path) && !existsSync(resolve(FOLDER, path)))).toEqual([]);
});

test('asks for the secrets that env.example names, and gives the daemon settings that it takes', () => {
  const example = [...read('env.example').matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name!);
  const asked = [...read('compose.yml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name!);
  expect([...new Set(asked)].sort()).toEqual(example.sort());

  const given = (name: string): string => name.toLowerCase().padEnd(64, '0');
  const filled = (text: string): string =>
    text.replace(
      /\$\{([A-Z_]+)(?::-([^}]*))?(?::\?[^}]*)?\}/g,
      (_, name: string, otherwise?: string) => otherwise ?? given(name),
    );
  const environment = Object.entries(compose.services['purchase-watch']!.environment!);
  for (const [name] of environment) expect(VARIABLE_NAMES).toContain(name);
  const image = { HOST: '0.0.0.0', PORT: '8080', DATA_DIR: '/data' };
  const settings = loadSettings(
    { ...image, ...Object.fromEntries(environment.map(([name, value]) => [name, filled(value)])) },
    { requireSite: true },
  );
  expect(settings.sites.map(({ baseUrl }) => baseUrl)).toEqual(['http://simulator:8090']);
  expect(new URL(settings.databaseUrl!).hostname).toBe('postgres');
});

const TOOLS = [
  ['promtool', ['check', 'config', '--syntax-only', 'prometheus.yml', '../prometheus/prometheus.yml'], 'prometheus'],
  ['amtool', ['check-config', 'alertmanager.yml', '../prometheus/alertmanager.yml'], 'prometheus-alertmanager'],
] as const;

test.each(TOOLS)('%s takes its file', async (tool, args, debian) => {
  const program = installed(tool);
  if (program === null) {
    if (process.env.CI) throw new Error(`${tool} is not installed here (Debian: apt-get install ${debian})`);
    return console.warn(`not tested: ${tool} is not installed here (Debian: apt-get install ${debian})`);
  }
  const files = args.map((arg) => (arg.endsWith('.yml') ? join(FOLDER, arg) : arg));
  const { code, output } = await outcomeOf(program, files);
  expect(code, output).toBe(0);
});
