/** Files that a person names: what is no file is refused at once, and named. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { readPlainFile } from '../../../src/config/sources/plain-file.ts';
import { parseDatabaseUrl } from '../../../src/postgres/address/database-url.ts';

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
const at = (name: string): string => join(folder, name);
writeFileSync(at('key'), 'cf2f1c9a7e4b8d6a50317c9e\r\n\n');
symlinkSync(at('key'), at('link'));
execFileSync('mkfifo', [at('pipe')]);
writeFileSync(at('huge'), '');
truncateSync(at('huge'), 5_000_000);

test('a link leads to its file, as those of Kubernetes do, and line breaks at the end are no part of a secret', () => {
  expect(readPlainFile(at('link'))).toContain('cf2f1c');
  const { apiKeys } = loadSettings({ API_KEY_FILE: at('link') });
  expect(apiKeys).toEqual(loadSettings({ API_KEY: 'cf2f1c9a7e4b8d6a50317c9e' }).apiKeys);
});

// A pipe would hold up the daemon, which reads its files every few seconds, until somebody writes.
test.each([
  [at('pipe'), 'is a folder, a pipe or a device: name a file, which can be read again'],
  [folder, 'is a folder, a pipe or a device'],
  ['/dev/zero', 'is a folder, a pipe or a device'],
  [at('huge'), 'has more than 4 MiB: name the right file'],
])('%s is refused', (path, why) => {
  for (const name of ['API_KEY_FILE', 'DATABASE_PASSWORD_FILE', 'PURCHASE_WATCH_CONFIG'])
    expect(() => loadSettings({ DATABASE_URL: 'postgres://me@127.0.0.1/x', [name]: path })).toThrow(`${name}: ${path} ${why}`);
  const url = `postgres://me@127.0.0.1/x?sslmode=verify-full&sslrootcert=${encodeURIComponent(path)}`;
  expect(() => parseDatabaseUrl(url)).toThrow(`sslrootcert: ${path} ${why}`);
});
