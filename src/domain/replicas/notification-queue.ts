/** How full the database's queue of notifications is, in words for people. Pure. */

/**
 * Postgres keeps a notification until every session that listens has read it, and a session reads none inside a transaction.
 * Once the queue (8 GB) is full, each commit that notifies fails, and with it all recording. At a quarter there is time.
 */
const WARNED_FROM = 0.25;

/** The warning when the queue is filled to this share (0 to 1); null while the share is not worth a word. */
export function queueTrouble(used: number, from = WARNED_FROM) {
  if (used < from) return null;
  return {
    found: `the notification queue of the database is ${Math.floor(used * 100)} % full`,
    advice:
      'a session that listens holds a transaction open; once the queue is full, nothing can be recorded. End the oldest such transaction (pg_terminate_backend): select pid, usename, application_name, client_addr, xact_start from pg_stat_activity where xact_start is not null order by xact_start limit 5',
  };
}
