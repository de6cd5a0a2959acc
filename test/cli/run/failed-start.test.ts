/** A start that fails: a collector of the log reads a line of the log, a person reads words. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createDaemon } from '../../../src/demo/cast/daemon.ts';
import { testDatabase } from '../../support/database.ts';
import { runCommand } from '../run.ts';

const SITE = { CHECKOUT_BASE_URL: 'http://127.0.0.1:1', CHECKOUT_CLIENT_ID: 'id', CHECKOUT_CLIENT_SECRET: 'secret' };

/** The address of a database that is not there, on a server that is. */
async function noDatabase(): Promise<string> {
  const database = await testDatabase();
  onTestFinished(() => database.drop());
  const url = new URL(database.url);
  url.pathname = '/not_there';
  return url.href;
}

test.each([
  ['settings that are missing', [], async () => ({}), 2, 'CHECKOUT_BASE_URL: is missing', ''],
  [
    'a database that is not there',
    [],
    async () => ({ ...SITE, PORT: '0', DATABASE_URL: await noDatabase() }),
    1,
    'not_there',
    '',
  ],
  [
    'an option that is not there',
    ['--wroker'],
    async () => ({}),
    2,
    "unknown option '--wroker'",
    "error: unknown option '--wroker'",
  ],
])('%s: the last line is JSON, and a terminal gets words', async (_, options, envOf, code, problem, usage) => {
  const env: NodeJS.ProcessEnv = await envOf();
  const { exitCode, stdout, stderr } = await runCommand(['start', ...options], env);
  const lines = stdout.trim().split('\n');
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  expect(exitCode).toBe(code);
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({
    level: 'error',
    event: 'start.failed',
    host: expect.any(String),
    error: { message: expect.stringContaining(problem) },
  });
  expect(stderr.split('\n')[0]).toBe(usage);

  const seen = await runCommand(['start', ...options], env, { isTTY: true });
  expect(seen.stdout).not.toContain('start.failed');
  expect([seen.exitCode, seen.stderr]).toEqual([code, expect.stringMatching(/^error: /)]);
  expect(seen.stderr).toContain(problem);
});

test('the demo says in words why a daemon did not start', async () => {
  const taken = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-failed-start-'));
  const daemon = createDaemon({ ...SITE, DATA_DIR: folder }, { port, logFile: join(folder, 'daemon.log') });
  await expect(daemon.start()).rejects.toThrow(new RegExp(`^the daemon did not start: port ${port} .*in use`));
});
