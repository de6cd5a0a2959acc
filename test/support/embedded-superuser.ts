/** The superuser of an embedded Postgres, for tests that need more rights than the daemon has, or a port. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { superuserUrl } from '../../src/store/embedded-role.ts';
import { freePorts } from './broker-process.ts';

const passwordOf = (dataDir: string): string => readFileSync(join(dataDir, 'postgres/password'), 'utf8');

/** The address of the superuser on the server that has this address. */
export function asSuperuser(url: string, dataDir: string): string {
  return Object.assign(new URL(url), { username: 'purchase_watch', password: passwordOf(dataDir) }).href;
}

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
