/** Compares a receiver's own log with what the database says of the deliveries of its subscriber. */
import { AppError } from '../domain/values/errors.ts';
import type { Instant } from '../domain/values/time.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { readSubscribers, type StoredSubscriber } from '../postgres/subscribers/subscribers.ts';
import { auditSent, type LoggedEvent, type SentResult } from '../postgres/upkeep/audit-sent.ts';

export { type AuditResult, audit, type CheckResult, type Gap } from '../postgres/upkeep/audit.ts';
export type { AuditCheck } from '../postgres/upkeep/audit-checks.ts';

export type { LoggedEvent, SentResult };

/** The subscriber of this name, or the only one for systems, whose log is compared. Throws AppError `invalid`. */
export async function loggedSubscriber(sql: Sql, name: string | undefined): Promise<StoredSubscriber> {
  const all = await readSubscribers(sql);
  const systems = all.filter(({ audience }) => audience === 'systems');
  const found = name === undefined ? systems : all.filter((each) => each.name === name);
  if (found.length === 1) return found[0]!;
  const names = (name === undefined ? systems : all).map((each) => each.name).join(', ') || 'none';
  if (name === undefined) throw new AppError('invalid', `--sent: say by --subscriber whose log it is; known: ${names}`);
  throw new AppError('invalid', `--subscriber: ${JSON.stringify(name)} is not a subscriber; known: ${names}`);
}

/** Compares both ways: what arrived and the database does not know, and what the database calls delivered and did not arrive. */
export async function compareLog(
  sql: Sql,
  log: ReadonlyMap<string, LoggedEvent>,
  { subscriber, since }: { subscriber: Pick<StoredSubscriber, 'id'>; since: Instant | null },
): Promise<SentResult> {
  return auditSent(sql, log, { subscriber: subscriber.id, since });
}
