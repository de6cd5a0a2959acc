/** The encryption of this installation, as the settings say. */
import type { Settings } from '../../config/settings.ts';
import { keptKey, keptKeyIfAny } from '../../runtime/secrets/kept-key.ts';
import { createSecrets, type Secrets } from '../../runtime/secrets/secrets.ts';

type KeySettings = Pick<Settings, 'secretsKey' | 'secretsKeyPrevious' | 'databaseUrl' | 'dataDir'>;

/**
 * SECRETS_KEY; with the embedded Postgres a key kept beside it; otherwise null: nothing secret can be stored. What
 * SECRETS_KEY_PREVIOUS names opens too, and so does the kept key once a SECRETS_KEY replaces it.
 */
export function secretsOf({ secretsKey, secretsKeyPrevious, databaseUrl, dataDir }: KeySettings): Secrets | null {
  const isEmbedded = databaseUrl === null;
  const key = secretsKey ?? (isEmbedded ? keptKey(dataDir) : null);
  if (key === null) return null;
  const kept = isEmbedded && secretsKey !== null ? keptKeyIfAny(dataDir) : null;
  return createSecrets(key, [...previousKeys(secretsKeyPrevious), ...(kept === null ? [] : [kept])]);
}

/** A key may hold commas itself, so the whole text counts as one, too: a key that nothing was sealed with opens nothing. */
function previousKeys(text: string | null): string[] {
  if (text === null) return [];
  const parts = text.split(',').map((part) => part.trim());
  return parts.length === 1 ? [text] : [...parts.filter((part) => part !== ''), text];
}
