/** How a URL has its connections encrypted, as libpq reads `sslmode`. */
import type { ConnectionOptions } from 'node:tls';
import { readPlainFile } from '../../config/sources/plain-file.ts';
import { AppError, unreadFile } from '../../domain/values/errors.ts';

/** Whether and how a connection is encrypted. */
export interface Encryption {
  /** No TLS; TLS where the server has it; TLS. */
  readonly mode: false | 'prefer' | 'require';
  /** The certificates to check and to show, read for each connection, since they are renewed. Throws an AppError. */
  readonly checks: () => ConnectionOptions;
  /** TLS begins at once, without asking for it (`sslnegotiation=direct`). */
  readonly isDirect: boolean;
}

/**
 * libpq's rules: `prefer` by default, `require` trusts any certificate unless a root is given, `verify-full` checks the name. Throws
 * an AppError for a mode that does not exist, and for files that cannot be read.
 */
export function encryptionOf(query: URLSearchParams, host: string): Encryption {
  const mode = query.get('sslmode') ?? 'prefer';
  const root = query.get('sslrootcert');
  const isDirect = query.get('sslnegotiation') === 'direct';
  const trusting = () => ({ rejectUnauthorized: false });
  // No other machine can read a socket of this machine's file system, and servers do not offer TLS there.
  if (mode === 'disable' || host.startsWith('/')) return { mode: false, checks: trusting, isDirect };
  if (mode === 'prefer' || mode === 'allow') return { mode: 'prefer', checks: trusting, isDirect };
  if (!['require', 'verify-ca', 'verify-full'].includes(mode)) {
    throw new AppError(
      'configuration',
      `the database URL's sslmode is "${mode}": expected disable, prefer, require, verify-ca or verify-full`,
    );
  }
  const file = (name: string): string | undefined => query.get(name) ?? undefined;
  const named = { ca: root === 'system' ? undefined : file('sslrootcert'), cert: file('sslcert'), key: file('sslkey') };
  const parameters = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' };
  const isNameChecked = mode === 'verify-full' || root === 'system';
  const checks = (): ConnectionOptions => ({
    ...Object.fromEntries(
      Object.entries(named)
        .filter(([, path]) => path !== undefined)
        .map(([key, path]) => [key, certificate(parameters[key as keyof typeof parameters], path!)]),
    ),
    rejectUnauthorized: mode !== 'require' || root !== null,
    ...(isNameChecked ? {} : { checkServerIdentity: () => undefined }),
  });
  // Wrong files show at the start, not with the first connection.
  checks();
  return { mode: 'require', checks, isDirect };
}

function certificate(parameter: string, path: string): string {
  try {
    return readPlainFile(path);
  } catch (cause) {
    throw new AppError('configuration', `the database URL's ${parameter}: ${unreadFile(path, cause)}`, { cause });
  }
}
