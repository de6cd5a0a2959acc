/**
 * How long a daemon waits for the database, and the limits under which the server itself ends a statement before that: a
 * statement that its client gave up would otherwise go on, or wait for a lock, and hold a connection of the server for as
 * long as that takes.
 */

import type { Milliseconds } from '../../domain/values/time.ts';

/** Settings of a session, in milliseconds. */
export type SessionLimits = Readonly<Record<string, Milliseconds>>;

/** The limits for a client that waits so long for an answer. The limit for a lock is shorter than that for a statement, so that the error names the lock. */
export function sessionLimitsFor(answerWithin: Milliseconds): SessionLimits {
  return {
    statement_timeout: Math.round(answerWithin * 0.8),
    lock_timeout: Math.round(answerWithin * 0.6),
    idle_in_transaction_session_timeout: answerWithin,
    // A connection that only listens says nothing for minutes; a limit of the role would end it each time.
    idle_session_timeout: 0,
    // How often a server that works on a statement looks whether its client is still there.
    client_connection_check_interval: Math.round(answerWithin * 0.2),
  };
}

/** The same limits with a shorter wait for locks; unchanged where the server takes no limit for that. */
export function waitingForLocks(limits: SessionLimits, within: Milliseconds): SessionLimits {
  return 'lock_timeout' in limits ? { ...limits, lock_timeout: Math.min(limits.lock_timeout!, within) } : limits;
}
