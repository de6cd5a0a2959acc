/** Locks of other sessions: the error of a statement that did not get one in time, and the words for the session that holds it. */

/** Whether the server ended a statement because it waited too long for a lock (`lock_timeout`, or `nowait`). */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '55P03';
}
