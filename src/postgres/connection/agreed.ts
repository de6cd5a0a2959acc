/**
 * The settings that sessions of a URL begin with, as agreed with the server or the pooler before it (agreement.ts). Guards are
 * those that recording rests on, whatever the role's defaults are: the fences count on statements that see what was committed
 * before them, and a commit that is answered must survive a crash of the server.
 */

/** Settings of a session, as Postgres names and reads them. */
export type SessionSettings = Readonly<Record<string, string | number>>;

export interface Agreed {
  readonly guards: SessionSettings;
  /** Names of settings that a session cannot begin with. */
  readonly refused: readonly string[];
  /**
   * Each transaction may run in another session, as behind a pooler in transaction mode: no prepared statements, no settings of
   * sessions, no locks and notifications of sessions.
   */
  readonly isPooled: boolean;
}

/** Where nothing was agreed on. */
const UNASKED: Agreed = {
  guards: { default_transaction_isolation: 'read committed', synchronous_commit: 'on' },
  refused: [],
  isPooled: false,
};

const agreed = new Map<string, Agreed>();

export const agreedOn = (url: string): Agreed => agreed.get(url) ?? UNASKED;

/** Has every later session of the process at a URL begin so. */
export function agree(url: string, found: Agreed): void {
  agreed.set(url, found);
}

/** The wanted settings and guards with which a session of the URL can begin; as text, because the driver leaves out a 0. */
export function settingsAtStart(url: string, wanted: SessionSettings): Record<string, string> {
  const { guards, refused, isPooled } = agreedOn(url);
  if (isPooled) return {};
  const taken = Object.entries({ ...wanted, ...guards }).filter(([name]) => !refused.includes(name));
  return Object.fromEntries(taken.map(([name, value]) => [name, `${value}`]));
}
