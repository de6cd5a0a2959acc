/** A real PgBouncer before a database, on a free port and in a folder of its own. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts, installed, startChild } from './broker-process.ts';

const BINARY = installed('pgbouncer');

/** Why tests with it cannot run here; null when they can. */
export const noPgBouncer: string | null =
  BINARY === null ? 'pgbouncer is not installed here (Debian: apt-get install pgbouncer)' : null;

export interface PgBouncer {
  /** The database's address by way of the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts one before the database at a URL; `settings` are lines of its file, such as `pool_mode`. */
export async function startPgBouncer(target: string, settings: Readonly<Record<string, string | number>>): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(target);
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-pgbouncer-'));
  chmodSync(folder, 0o755);
  const [own] = (await freePorts(1)) as [number];
  const name = pathname.slice(1);
  const users = join(folder, 'users.txt');
  const quoted = (text: string): string => `"${decodeURIComponent(text).replaceAll('"', '""')}"`;
  writeFileSync(users, `${quoted(username)} ${quoted(password)}\n`, { mode: 0o644 });
  const file = join(folder, 'pgbouncer.ini');
  const lines = Object.entries({
    ...{ listen_addr: '127.0.0.1', listen_port: own, unix_socket_dir: '', auth_type: 'scram-sha-256', auth_file: users },
    ...settings,
  }).map(([key, value]) => `${key} = ${value}`);
  const database = `${name} = host=${hostname} port=${port} dbname=${name}`;
  writeFileSync(file, ['[databases]', database, '[pgbouncer]', ...lines, ''].join('\n'), { mode: 0o644 });
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = `${own}`;
  // It refuses to run as root.
  const asOther = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = startChild(BINARY!, [...asOther, file], {});
  await child.says('process up');
  return {
    url: url.href,
    stop: async () => {
      child.process.kill('SIGINT');
      await child.ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
