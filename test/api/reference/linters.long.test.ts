/** Two linters that users of OpenAPI run find nothing in both documents, with their usual rules and none of these switched off. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator } from '../../../packages/simulator/src/index.ts';
import { openApiDocument } from '../../../tools/client-types.ts';
import { installOwnPackages } from '../../../tools/own-packages.ts';

const LINTERS = join(import.meta.dirname, 'linters');
const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
beforeAll(() => {
  installOwnPackages(LINTERS, console.info);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What the linters find in a document. */
function findings(document: object): string[] {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(document));
  const printed = execFileSync(process.execPath, [join(LINTERS, 'lint.js'), file], { encoding: 'utf8' });
  return JSON.parse(printed) as string[];
}

test("the daemon's API has no error and no warning", async () => {
  const document = await openApiDocument();
  expect(findings(document)).toEqual([]);
  expect(findings({ ...document, servers: undefined }), 'what the linters find at all').toEqual([
    expect.stringMatching(/^redocly no-empty-servers/),
    expect.stringMatching(/^spectral oas3-api-servers/),
  ]);
});

test("the simulator's controls have no error and no warning", async () => {
  const simulator = await startSimulator();
  try {
    expect(findings((await (await fetch(`${simulator.url}/control/openapi.json`)).json()) as object)).toEqual([]);
  } finally {
    await simulator.stop();
  }
});
