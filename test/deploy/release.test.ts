/** What files of a release repeat, and what they say where. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { releaseFiles } from '../../tools/manifests.ts';

const ROOT = join(import.meta.dirname, '../..');

test('image, manifests, chart and docs have the version of package.json, and the rules of the operator are the rules', () => {
  const files = releaseFiles();
  expect([...files.keys()]).toEqual(
    expect.arrayContaining(['Dockerfile', 'deploy/helm/purchase-watch/Chart.yaml', 'deploy/compose/compose.yml', 'README.md']),
  );
  // Otherwise: npm run manifests.
  for (const [path, content] of files) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(content);
});
