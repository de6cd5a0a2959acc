import { PassThrough } from 'node:stream';
import { run } from '../../src/main.ts';
import { syncSites } from '../../src/postgres/polling/sites.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';

/** A database as a daemon with these sites would have left it. */
export async function databaseOf(...sites: string[]): Promise<TestDatabase> {
  const database = await testDatabase();
  await syncSites(database.sql, sites);
  return database;
}

/** Runs a command on a database, with something on standard input. */
export async function onDatabase({ url }: { readonly url: string }, argv: readonly string[], input = '') {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const [said, complained] = [collect(stdout), collect(stderr)];
  const exitCode = await run(argv, { env: { DATABASE_URL: url }, stdin, stdout, stderr, isTTY: false });
  return { exitCode, stdout: said(), stderr: complained() };
}

function collect(stream: PassThrough): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text + (stream.read() ?? '');
}
