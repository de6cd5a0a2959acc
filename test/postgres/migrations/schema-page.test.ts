import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { schemaPage } from '../../../tools/schema.ts';
import { testDatabase } from '../../support/database.ts';

test('the page of the schema shows the catalogue as the migrations make it', async () => {
  const { sql, drop } = await testDatabase();
  try {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/schema.md'), 'utf8');
    expect(page, 'make it again: npm run schema').toBe(await schemaPage(sql));
  } finally {
    await drop();
  }
});
