/**
 * Settings of sessions that recording rests on, whatever the role's defaults are. The fences count on statements that see what
 * was committed before them, and a commit that is answered must survive a crash of the server.
 */

export type Guards = Readonly<Record<string, string>>;

/** Where nothing was agreed on. */
const GUARDS: Guards = { default_transaction_isolation: 'read committed', synchronous_commit: 'on' };
/** Values of `synchronous_commit` that lose answered commits; the others also wait for standbys, as an operator may choose. */
export const LOSING: readonly string[] = ['off', 'local'];

const agreed = new Map<string, Guards>();

/** What every session of a URL begins with. */
export const guardsOf = (url: string): Guards => agreed.get(url) ?? GUARDS;

/** Has every later session of the process at a URL begin with these. */
export function setGuards(url: string, guards: Guards): void {
  agreed.set(url, guards);
}
