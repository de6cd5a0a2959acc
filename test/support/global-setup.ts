/** One Postgres for the whole run: the one at TEST_DATABASE_URL, or an embedded one in a folder that goes away afterwards. */
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { connect } from '../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts';
import { withPort } from './embedded-port.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's address on the run's Postgres. */
    serverUrl: string;
    /** Databases of this run begin with it. */
    runPrefix: string;
    /** How Postgres copies the template: files are quicker in memory, its own pages quicker on a disk. */
    copyStrategy: 'file_copy' | 'wal_log';
  }
}

/** Linux's folder in memory. A container may have little of it. */
const MEMORY = '/dev/shm';
/** Bytes. A run needs a few hundred megabytes: databases live as long as their tests. */
const ENOUGH = 2 * 1024 ** 3;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const prefix = `pw_test_${randomBytes(4).toString('hex')}_`;
  project.provide('runPrefix', prefix);
  const inMemory = hasRoom(MEMORY);
  // Each database is three hundred files, and a disk's file system takes longer to make and to delete them than Postgres.
  const folder = mkdtempSync(join(inMemory ? MEMORY : tmpdir(), 'purchase-watch-test-'));
  chmodSync(folder, 0o755);
  // Workers, and the processes that `quickStart` is for, compile each module once in a run.
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compile-cache');
  process.env.TEST_MACHINE_DIR = join(folder, 'machine');
  const external = process.env.TEST_DATABASE_URL;
  project.provide('copyStrategy', inMemory && external === undefined ? 'file_copy' : 'wal_log');
  if (external !== undefined) {
    project.provide('serverUrl', external);
    return async () => {
      await dropDatabases(external, prefix);
      rmSync(folder, { recursive: true, force: true });
    };
  }
  // Nothing here has to survive a power cut.
  const settings = {
    ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
    ...{ max_connections: '200', max_wal_size: '256MB' },
  };
  const dataDir = join(folder, 'data');
  // Tests lay lines of their own to it.
  const port = await withPort(dataDir);
  const server = await startEmbedded({ dataDir, settings: { ...settings, ...port.settings } });
  project.provide('serverUrl', port.url());
  return async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Whether the folder is there with enough free space. */
function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}

/** What failed tests left behind, and the template. */
async function dropDatabases(url: string, prefix: string): Promise<void> {
  const sql = connect(url, { max: 1 });
  const found = await sql<{ datname: string }[]>`select datname from pg_database where starts_with(datname, ${prefix})`;
  for (const { datname } of found) await sql`drop database ${sql(datname)} with (force)`;
  await sql.end();
}
