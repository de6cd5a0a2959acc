/** An embedded Postgres with a port, for tests that lay lines of their own to it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { superuserUrl } from '../../src/postgres/embedded/roles.ts';
import { freePorts } from './broker-process.ts';

const passwordOf = (dataDir: string): string => readFileSync(join(dataDir, 'postgres/password'), 'utf8');

/** Settings with which it listens on a port, too, and the superuser's address there. */
export async function withPort(dataDir: string): Promise<{ settings: Record<string, string>; url: () => string }> {
  const [port] = (await freePorts(1)) as [number];
  return {
    settings: { listen_addresses: '127.0.0.1', port: String(port) },
    url: () =>
      Object.assign(new URL(superuserUrl({ host: '', port }, passwordOf(dataDir))), {
        host: `127.0.0.1:${port}`,
        search: '?sslmode=disable',
      }).href,
  };
}
