import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dashboardFiles } from '../../tools/dashboards.ts';

test('the files of the dashboards are what the code makes', () => {
  const files = dashboardFiles();
  expect(files).toHaveLength(5);
  for (const { path, text } of files) expect(readFileSync(path, 'utf8'), 'write them again: npm run dashboards').toBe(text);
});
