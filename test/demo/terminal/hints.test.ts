/** What the demo says to try in another terminal. */
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { hints } from '../../../src/demo/terminal/hints.ts';

const home = resolve('.purchase-watch/demo');
const lines = hints({
  home,
  file: join(home, 'settings.yaml'),
  apiUrl: 'http://127.0.0.1:8080',
  checkoutUrl: 'http://127.0.0.1:8090',
  databaseFile: join(home, 'database-url'),
  ids: { command: 'try-command-abc123', sql: 'try-sql-abc123', api: 'try-api-abc123' },
});

test('the commands have the folder and the settings of the demo, and each fits into a narrow terminal', () => {
  const exports = lines.filter((line) => line.startsWith('  export '));
  expect(exports).toEqual([
    '  export DATA_DIR=.purchase-watch/demo',
    '  export PURCHASE_WATCH_CONFIG=.purchase-watch/demo/settings.yaml',
  ]);
  const first = lines.findIndex((line) => line.startsWith('  npx purchase-watch'));
  expect(first).toBeGreaterThan(lines.indexOf(exports.at(-1)!));
  expect(lines).toContain('  npx purchase-watch audit');
  expect(lines.filter((line) => line.length > 78)).toEqual([]);
});
