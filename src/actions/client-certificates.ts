/** The certificates that this side shows: to receivers and brokers that the settings name, and to the database. */
import type { Settings } from '../config/settings.ts';
import { parseDatabaseUrl } from '../postgres/connection/database-url.ts';
import { type Expiry, expiryOf } from '../runtime/http/certificates.ts';

/** When each expires, by the subscriber that it is for, or `database`. */
export function clientCertificates({ subscribers }: Pick<Settings, 'subscribers'>, databaseUrl: string): Expiry[] {
  const { mode } = parseDatabaseUrl(databaseUrl).encryption;
  const ofDatabase = typeof mode === 'object' && typeof mode.cert === 'string' ? mode.cert : null;
  return [
    ...subscribers.map(({ name, clientCertificate }) => ({ name, pem: clientCertificate ?? null })),
    { name: 'database', pem: ofDatabase },
  ].flatMap(({ name, pem }) => (pem === null ? [] : [{ name, at: expiryOf(pem) }]));
}
