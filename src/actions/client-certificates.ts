/** The certificates that this side shows: to receivers and brokers that the settings name, and to the database. */
import type { Settings } from '../config/settings.ts';
import { parseDatabaseUrl } from '../postgres/address/database-url.ts';
import { type Expiry, expiryOf } from '../runtime/http/certificates.ts';

/** When each expires, by the subscriber that it is for, or `database`. The database's is read again from its file. */
export function clientCertificates({ subscribers }: Pick<Settings, 'subscribers'>, databaseUrl: string): () => Expiry[] {
  const { encryption } = parseDatabaseUrl(databaseUrl);
  const named = subscribers.flatMap(({ name, clientCertificate }) =>
    clientCertificate == null ? [] : [{ name, at: expiryOf(clientCertificate) }],
  );
  return () => {
    try {
      const { cert } = encryption.checks();
      return typeof cert === 'string' ? [...named, { name: 'database', at: expiryOf(cert) }] : named;
    } catch {
      // A file that cannot be read shows with the next connection, which says what to do.
      return named;
    }
  };
}
