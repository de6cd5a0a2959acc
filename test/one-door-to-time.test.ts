/** The linter refuses every source of time and chance outside of `src/runtime` (decision 39). */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const REFUSED = [
  'setTimeout(() => undefined, 5);',
  'setInterval(() => undefined, 5);',
  'setImmediate(() => undefined);',
  'globalThis.setTimeout(() => undefined, 5);',
  "import { setTimeout } from 'node:timers';",
  "import { setTimeout as delay } from 'node:timers/promises';",
  "await import('node:timers/promises');",
  'AbortSignal.timeout(5);',
  'Date.now();',
  '[].map(Date.now);',
  'new Date();',
  'performance.now();',
  "import { performance } from 'node:perf_hooks';",
  'process.hrtime.bigint();',
  'Math.random();',
  'crypto.randomUUID();',
  "import { randomUUID } from 'node:crypto';",
  "import { createHash, randomBytes } from 'node:crypto';",
  "import crypto from 'node:crypto';",
  "import * as crypto from 'node:crypto';",
];
const ALLOWED = [
  'new Date(5);',
  'Date.UTC(2026);',
  'Math.round(5);',
  "import { createHash } from 'node:crypto';",
  'clearTimeout(1);',
];

/** Lints one file for each text, in these folders. Answers the texts about which time or chance is the complaint, folder by folder. */
function refused(texts: readonly string[], folders: readonly string[]): string[][] {
  const place = mkdtempSync(join(tmpdir(), 'purchase-watch-lint-'));
  try {
    for (const file of ['biome.json', ...globSync('tools/*.grit', { cwd: ROOT })]) cpSync(join(ROOT, file), join(place, file));
    for (const folder of folders) {
      mkdirSync(join(place, folder), { recursive: true });
      texts.forEach((text, index) => void writeFileSync(join(place, folder, `${index}.ts`), `${text}\n`));
    }
    const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
    const values = ['lint', '--vcs-enabled=false', '--reporter=json', '--max-diagnostics=none', '--log-level=none', 'src'];
    const { stdout } = spawnSync(process.execPath, [biome, ...values], { cwd: place, encoding: 'utf8' });
    const { diagnostics } = JSON.parse(stdout) as {
      diagnostics: { category: string; message: string; location: { path: string } }[];
    };
    const ours = diagnostics.filter(
      ({ category, message }) => /noRestricted(?:Globals|Imports)$/.test(category) || message.includes('decision 39'),
    );
    const files = new Set(ours.map(({ location }) => location.path));
    return folders.map((folder) => texts.filter((_, index) => files.has(`${folder}/${index}.ts`)));
  } finally {
    rmSync(place, { recursive: true });
  }
}

test('time and chance are refused everywhere in src but in runtime', () => {
  const [inDaemon, inFile, inRuntime] = refused([...REFUSED, ...ALLOWED], ['src/daemon/poller', 'src', 'src/runtime/loops']);
  expect(inDaemon).toEqual(REFUSED);
  expect(inFile).toEqual(REFUSED);
  expect(inRuntime).toEqual([]);
});
