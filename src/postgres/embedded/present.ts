/** Whether a folder holds an embedded Postgres; makes none, and does not load the code that runs one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** True when a DATA_DIR was used before: the cluster is in DATA_DIR, or a note there names the cluster's folder. */
export function hasEmbedded(dataDir: string): boolean {
  return ['postgres', 'postgres-location'].some((name) => existsSync(join(dataDir, name)));
}
