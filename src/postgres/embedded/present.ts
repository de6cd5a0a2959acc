/** Whether a folder holds an embedded Postgres, without making one or loading what runs it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** True when a DATA_DIR was used before: the cluster is in it, or a note says where it is. */
export function hasEmbedded(dataDir: string): boolean {
  return ['postgres', 'postgres-location'].some((name) => existsSync(join(dataDir, name)));
}
