/** Checks the keys that encrypt what is stored: whether the daemons have the same, and whether a replaced one is still needed. */
import type { Settings } from '../../config/settings.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { keyHolders } from '../../postgres/subscribers/sealed-rows.ts';
import type { Finding, Reporter } from '../overview/finding.ts';
import { keyUse, unawareOf } from '../subscribers/key-change.ts';
import { secretsOf } from '../subscribers/secrets.ts';

const SAME_KEYS =
  'give every daemon the same SECRETS_KEY, and the one that it replaces in SECRETS_KEY_PREVIOUS, and restart them';

export async function checkSecrets(report: Reporter, sql: Sql, settings: Settings): Promise<Finding[]> {
  const secrets = secretsOf(settings);
  if (secrets === null) return [];
  const [current] = secrets.keyIds;
  if (secrets.keyIds.length === 1) {
    // Daemons of an earlier version do not record their keys; daemons without a key store and read nothing secret.
    const others = (await keyHolders(sql)).filter(
      ({ keyIds }) => keyIds !== null && keyIds.length > 0 && !keyIds.includes(current!),
    );
    if (others.length === 0) return [];
    return [report.warning(`${daemons(others.length)} another SECRETS_KEY than this command`, SAME_KEYS)];
  }
  const [use, unaware] = await Promise.all([keyUse(sql, secrets), unawareOf(sql, secrets)]);
  if (unaware.length > 0) {
    const found = `SECRETS_KEY is new, and ${daemons(unaware.length)} not got it yet; until all have, what is stored stays under SECRETS_KEY_PREVIOUS`;
    return [report.warning(found, SAME_KEYS)];
  }
  if (use.previous > 0) {
    const found = `${use.previous} of ${use.current + use.previous + use.unreadable} subscribers are still stored under SECRETS_KEY_PREVIOUS`;
    return [report.warning(found, 'leave it set: a running daemon seals them under SECRETS_KEY within minutes')];
  }
  const found = 'no subscriber is stored under SECRETS_KEY_PREVIOUS any more: take it away';
  return [report.ok(`${found} (a request repeated with an Idempotency-Key of the last day may then be refused as reused)`)];
}

function daemons(count: number): string {
  return count === 1 ? 'one daemon has' : `${count} daemons have`;
}
