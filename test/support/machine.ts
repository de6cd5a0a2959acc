/** The key of this machine, by which tests call daemons without keys: that of one folder for a whole run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashOfKey } from '../../src/config/api-keys.ts';
import { machineKey } from '../../src/runtime/secrets/kept-key.ts';
import { linkTo } from '../../src/runtime/secrets/one-time-links.ts';

/** DATA_DIR of daemons with a database elsewhere. */
export const MACHINE_DIR = process.env.TEST_MACHINE_DIR ?? ownFolder();
export const MACHINE_KEY = machineKey(MACHINE_DIR);
export const AS_MACHINE = { authorization: `Bearer ${MACHINE_KEY}` };

/** `fetch` with the key. */
export function fetchAsMachine(url: string | URL, { headers = {}, ...init }: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, headers: { ...AS_MACHINE, ...(headers as Record<string, string>) } });
}

/** A link that signs a browser in to the console there. */
export const linkAt = (origin: string): string => linkTo(`${origin}/`, hashOfKey(MACHINE_KEY));

/** Signs in by a link; answers the headers that a browser sends then. */
export async function signedIn(origin: string): Promise<{ cookie: string }> {
  const { headers } = await fetch(linkAt(origin), { redirect: 'manual' });
  return {
    cookie: headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; '),
  };
}

/** Where no test run made a folder, as in the storm. */
function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-machine-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
