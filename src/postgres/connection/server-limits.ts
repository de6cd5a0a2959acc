/**
 * How long a daemon waits for the database, and the limits under which the server itself ends a statement before that: a
 * statement that its client gave up would otherwise go on, or wait for a lock, and hold a connection of the server for as
 * long as that takes.
 */

import postgres from 'postgres';
import type { Milliseconds } from '../../domain/values/time.ts';
import { connect } from './database.ts';

/** Settings of a session, in milliseconds. */
export type ServerLimits = Readonly<Record<string, Milliseconds>>;

export interface Patience {
  /** After how long without an answer a connection is broken off. */
  readonly answerWithin: Milliseconds;
  readonly limits: ServerLimits;
}

/** The limits for a client that waits so long for an answer. The limit for a lock is shorter than that for a statement, so that the error names the lock. */
export function limitsFor(answerWithin: Milliseconds): ServerLimits {
  return {
    statement_timeout: Math.round(answerWithin * 0.8),
    lock_timeout: Math.round(answerWithin * 0.6),
    idle_in_transaction_session_timeout: answerWithin,
    // How often a server that works on a statement looks whether its client is still there.
    client_connection_check_interval: Math.round(answerWithin * 0.2),
  };
}

const UNLIMITED =
  'The database server, or a pooler before it, does not take these settings at the start of a session, so the daemon works without them: a statement that waits for a lock can hold its connection there after the daemon gave it up.';

/** The longest that a start waits for the answer which limits the server takes. */
const ASK_FOR_SECONDS = 3;

/**
 * The limits that the server, or a pooler before the server, takes at the start of a session: PgBouncer refuses a session with
 * settings that PgBouncer does not know, and servers on some platforms cannot check whether a client is still there. Never
 * throws: any other fault of the address shows with the next connection.
 */
export async function agreeOnLimits(
  url: string,
  answerWithin: Milliseconds,
  onRefused: (about: { readonly refused: readonly string[]; readonly detail: string }) => void,
): Promise<Patience> {
  let limits = limitsFor(answerWithin);
  const refused: string[] = [];
  for (;;) {
    const named = await refusedLimits(url, limits);
    if (named.length === 0) break;
    refused.push(...named);
    limits = Object.fromEntries(Object.entries(limits).filter(([name]) => !named.includes(name)));
  }
  if (refused.length > 0) onRefused({ refused, detail: UNLIMITED });
  return { answerWithin, limits };
}

/** The limits that a refusal of a session names. */
async function refusedLimits(url: string, limits: ServerLimits): Promise<string[]> {
  const sql = connect(url, { max: 1, name: 'limits', limits, connectWithinSeconds: ASK_FOR_SECONDS });
  try {
    await sql`select 1`;
    return [];
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) return [];
    return Object.keys(limits).filter((name) => error.message.includes(name));
  } finally {
    await sql.end({ timeout: 0 });
  }
}
