/** Hostile settings: variables and files. Each is either understood or refused in words, and no refusal quotes a secret. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { notes } from '../../src/config/kinds/field.ts';
import { publishedSchema } from '../../src/config/reference.ts';
import { VARIABLE_NAMES, VARIABLES } from '../../src/config/schema/variables.ts';
import type { OpenApiDocument, Schema } from '../../tools/book/api/model.ts';
import { bodyValue, oddText } from '../api/generate.ts';
import { runCommand } from '../cli/run.ts';
import { brief, edited, edits, sample } from './hostile.ts';

/** Part of every secret that is set. */
const MARK = 'qX7-do-not-show-qX7';
/** Milliseconds of processor time. */
const SLOW = 2_000;
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/;

interface Written {
  readonly env: Readonly<Record<string, string>>;
  /** Null: no file. */
  readonly file: string | null;
  /** Damage may put a secret in another place. */
  readonly isDamaged: boolean;
}

const GOOD: Readonly<Record<string, readonly string[]>> = {
  DATABASE_URL: ['postgres://shop:secret@127.0.0.1/shop', 'postgresql:///x?host=/tmp'],
  CHECKOUT_BASE_URL: ['https://checkout.example/api'],
  CHECKOUT_MAX_RPS: ['5', '0.5'],
  CHECKOUT_TIMEOUT: ['5s'],
  WEBHOOK_URL: ['https://shop.example/hook'],
  WEBHOOK_SECRET: [`whsec_${Buffer.alloc(32, 7).toString('base64')}`],
  WEBHOOK_ALLOW_ADDRESSES: ['10.0.0.0/8,fd00::/8'],
  SLACK_WEBHOOK_URL: ['https://hooks.slack.com/services/T/B/x'],
  HOST: ['127.0.0.1', '0.0.0.0', '::1'],
  PORT: ['8080', '0'],
};

const variable = (name: (typeof VARIABLE_NAMES)[number]): fc.Arbitrary<string> => {
  const isSecret = notes.get(VARIABLES[name])?.kind.secret === true;
  const odd = oddText.map((text) => text.replaceAll('\0', '?'));
  const values = GOOD[name];
  return fc.oneof(
    isSecret ? odd.map((text) => `${MARK}${text}`) : odd,
    ...(values === undefined ? [] : [fc.constantFrom(...values)]),
  );
};

const NAMES = VARIABLE_NAMES.filter((name) => name !== 'PURCHASE_WATCH_CONFIG');
const variables = fc
  .record(Object.fromEntries(NAMES.map((name) => [name, variable(name)])), { requiredKeys: [] })
  .map((values) => values as Record<string, string>);
const strangers = fc.dictionary(
  fc.oneof(
    fc.constantFrom('API_KEYS', 'WEBHOOK_SECERT', 'CHECKOUT_BASEURL', 'PORT_FILE', 'CHECKOUT_', 'SECRETS_KEY_FILE_FILE'),
    fc.constantFrom(...NAMES).map((name) => `${name}_FILE`),
  ),
  fc.oneof(
    fc.constantFrom('/nonexistent', '/', '/etc/passwd', '/dev/null', '', '.'),
    oddText.map((text) => text.replaceAll('\0', '?')),
  ),
  { maxKeys: 2 },
);

/** Names of the file whose values are secrets, as far as text goes. */
const MARKED = Object.fromEntries(
  ['clientSecret', 'secret', 'oldSecrets', 'signingKey', 'credentials', 'clientKey'].map((name) => [
    name,
    [MARK, `${MARK}\n`, `\${${MARK}`],
  ]),
);
const schema = publishedSchema() as Schema;
const tree = bodyValue({ components: {} } as unknown as OpenApiDocument, schema, MARKED);
const YAMLS = [
  'a: &a [*a]',
  `${['a: &a0 [x,x]', ...Array.from({ length: 30 }, (_, n) => `b${n}: &a${n + 1} [*a${n},*a${n}]`)].join('\n')}`,
  '!!js/function "x"',
  'sites: !!binary aGk=',
  '? [a]\n: b',
  '--- a\n--- b',
  '%YAML 9.9\n---\n{}',
  '[',
  '\0',
  '\ufeffsites: {}',
  'sites:\n\tse: 1',
  '- 1',
  '"x"',
  '~',
  '<<: {sites: {}}',
  '__proto__: { x: 1 }\nconstructor: 1',
  `${'{a: '.repeat(3_000)}1${'}'.repeat(3_000)}`,
  `states: { "99999999999999999999": { final: true }, "-1": {}, "1e3": {} }`,
  `sites: { a: { baseUrl: "https://x", clientId: "\${A", clientSecret: "\${}" } }`,
  `slack: { digest: "${'* '.repeat(5_000)}" }`,
  `store: { retention: { at: "*/0 99 * * *" } }`,
];
const plainFile = tree.map((value) => {
  try {
    return stringify(value);
  } catch {
    return JSON.stringify(value) ?? '';
  }
});
const file: fc.Arbitrary<Pick<Written, 'file' | 'isDamaged'>> = fc.oneof(
  { weight: 6, arbitrary: plainFile.map((text) => ({ file: text, isDamaged: false })) },
  { weight: 3, arbitrary: fc.tuple(plainFile, edits).map(([text, damage]) => ({ file: edited(text, damage), isDamaged: true })) },
  { weight: 1, arbitrary: fc.constantFrom(...YAMLS).map((text) => ({ file: text, isDamaged: false })) },
  { weight: 3, arbitrary: fc.constant({ file: null, isDamaged: false }) },
);
const written: fc.Arbitrary<Written> = fc
  .tuple(variables, strangers, file)
  .map(([known, unknown, made]) => ({ env: { ...unknown, ...known }, ...made }));

/** Writes so many settings and has `config` read them. `path` is the file to write to. */
export async function attackSettings(path: string, seed: number, count: number, found: (fault: string) => void): Promise<void> {
  for (const { env, file: text, isDamaged } of sample(written, count, seed)) {
    if (text !== null) writeFileSync(path, text);
    const began = process.threadCpuUsage();
    const { exitCode, stdout, stderr } = await runCommand(['config'], {
      ...env,
      ...(text === null ? {} : { PURCHASE_WATCH_CONFIG: path }),
    });
    const took = process.threadCpuUsage(began).user / 1_000;
    const where = `settings: ${brief(JSON.stringify({ env, text }), 2_000)}`;
    if (exitCode !== 0 && exitCode !== 2) found(`${where}\n  exit code ${exitCode}: ${brief(stderr)}`);
    if (exitCode === 2 && !stderr.startsWith('error: ')) found(`${where}\n  no error in words: ${brief(stderr)}`);
    if (!isDamaged && (stdout + stderr).includes(MARK)) found(`${where}\n  shows a secret: ${brief(stdout + stderr, 2_000)}`);
    if (CONTROL.test(stdout + stderr)) found(`${where}\n  writes control characters: ${JSON.stringify(brief(stderr))}`);
    if (took > SLOW) found(`${where}\n  took ${Math.round(took)} ms`);
  }
}

/** So many settings, written to a file at `path`. */
export interface SettingsOrder {
  readonly path: string;
  readonly seed: number;
  readonly count: number;
}

export interface SettingsDoor {
  attack(order: SettingsOrder): Promise<void>;
  close(): Promise<unknown>;
}

/** Opens the door: a thread of its own, since the hostile servers and the requests of this one would wait for each reading. */
export function openSettings(found: (fault: string) => void): SettingsDoor {
  const thread = new Worker(new URL('./settings-thread.ts', import.meta.url), { execArgv: [] });
  return {
    attack: async (order) => {
      thread.postMessage(order);
      const [faults] = (await once(thread, 'message')) as [string[]];
      for (const fault of faults) found(fault);
    },
    close: () => thread.terminate(),
  };
}
