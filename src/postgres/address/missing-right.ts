/** Rights that a role of the database lacks. */

/** SQLSTATE `insufficient_privilege`. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** The right that the database refused to a role and what to do, in a sentence; null for another error. */
export function missingRight(error: unknown, role: string): string | null {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (code !== INSUFFICIENT_PRIVILEGE || typeof message !== 'string') return null;
  const who = role === '' ? 'the role' : `role ${role}`;
  const database = /^permission denied for database (.+)$/.exec(message)?.[1];
  if (database !== undefined) {
    return `${message}: ${who} may not create schemas there; let the owner of the database run: grant create on database ${database} to ${role || '…'}`;
  }
  return `${message}: ${who} does not own the schemas of purchase-watch; let DATABASE_URL name the role that migrated them first, or let the owner of the schemas grant that role to ${role || 'this one'}`;
}
