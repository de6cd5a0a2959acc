/** A migrated database of its own for each caller. */
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connection/database.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';

export const MIGRATIONS = join(import.meta.dirname, '../../migrations');
/** Workers make the template one after the other. */
const TEMPLATE_LOCK = 7_236_019_446;

export interface TestDatabase {
  readonly url: string;
  /** A pool on it, as the daemon would have. */
  readonly sql: Sql;
  /** Ends the pool and removes the database, also with clients that are still connected. */
  drop(): Promise<void>;
}

/** A database with the schema of `migrations/` as it is now, or an empty one. */
export async function testDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const name = `${inject('runPrefix')}${randomBytes(4).toString('hex')}`;
  template ??= asAdmin(migratedTemplate);
  const source = empty ? 'template0' : await template;
  const strategy = inject('copyStrategy');
  await asAdmin((admin) => admin`create database ${admin(name)} template ${admin(source)} strategy ${admin(strategy)}`);
  const url = urlOf(name);
  const sql = connect(url);
  return {
    url,
    sql,
    drop: async () => {
      await sql.end({ timeout: 1 });
      await asAdmin((admin) => admin`drop database ${admin(name)} with (force)`);
    },
  };
}

/** The name of the migrated template, looked for once in each test file. */
let template: Promise<string> | undefined;

/** One connection for all databases that a test file creates and drops; it ends with the file's worker. */
async function asAdmin<T>(work: (admin: Sql) => Promise<T>): Promise<T> {
  adminConnection ??= connect(inject('serverUrl'), { max: 1 });
  return await work(adminConnection);
}

let adminConnection: Sql | undefined;

/** Made by the first who needs it, once per content of the folder, so that a watching run sees new files. */
async function migratedTemplate(admin: Sql): Promise<string> {
  const hash = createHash('sha256');
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(name).update(readFileSync(join(MIGRATIONS, name)));
  const name = `${inject('runPrefix')}template_${hash.digest('hex').slice(0, 12)}`;
  await admin`select pg_advisory_lock(${TEMPLATE_LOCK})`;
  try {
    const [found] = await admin`select from pg_database where datname = ${name}`;
    if (found !== undefined) return name;
    // Under another name until it is complete: a failed migration leaves no template behind.
    const draft = `${name}_draft`;
    await admin`drop database if exists ${admin(draft)} with (force)`;
    await admin`create database ${admin(draft)} template template0`;
    const sql = connect(urlOf(draft));
    try {
      await migrate(sql, MIGRATIONS);
    } finally {
      await sql.end();
    }
    await admin`alter database ${admin(draft)} rename to ${admin(name)}`;
    return name;
  } finally {
    await admin`select pg_advisory_unlock(${TEMPLATE_LOCK})`;
  }
}

function urlOf(database: string): string {
  const url = new URL(inject('serverUrl'));
  url.pathname = `/${database}`;
  return url.href;
}
