/** The encryption of this installation, as the settings say. */
import type { Settings } from '../config/settings.ts';
import { keptKey } from '../runtime/kept-key.ts';
import { createSecrets, type Secrets } from '../runtime/secrets.ts';

/** SECRETS_KEY; with the embedded Postgres a key kept beside it; otherwise null: nothing secret can be stored. */
export function secretsOf({
  secretsKey,
  databaseUrl,
  dataDir,
}: Pick<Settings, 'secretsKey' | 'databaseUrl' | 'dataDir'>): Secrets | null {
  const key = secretsKey ?? (databaseUrl === null ? keptKey(dataDir) : null);
  return key === null ? null : createSecrets(key);
}
