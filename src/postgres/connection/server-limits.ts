/**
 * How long a daemon waits for the database, and the limits under which the server itself ends a statement before that: a
 * statement that its client gave up would otherwise go on, or wait for a lock, and hold a connection of the server for as
 * long as that takes.
 */

import postgres from 'postgres';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type ConnectOptions, connect, type Sql } from './database.ts';
import { type Guards, guardsOf, LOSING, setGuards } from './guards.ts';

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

/** The same limits with a shorter wait for locks; unchanged where the server takes no limit for that. */
export function waitingForLocks(limits: ServerLimits, within: Milliseconds): ServerLimits {
  return 'lock_timeout' in limits ? { ...limits, lock_timeout: Math.min(limits.lock_timeout!, within) } : limits;
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
    limits = without(limits, named);
  }
  if (refused.length > 0) onRefused({ refused, detail: UNLIMITED });
  return { answerWithin, limits };
}

/** The limits that a refusal of a session names. */
async function refusedLimits(url: string, limits: ServerLimits): Promise<string[]> {
  return refusedNames(await askSession(url, limits), Object.keys(limits));
}

export interface Unguarded {
  /** Settings that the server, or a pooler, does not take at the start of a session. */
  readonly refused: readonly string[];
  /** Settings of sessions that are not as they must be, with what they are. */
  readonly wrong: readonly string[];
  readonly detail: string;
}

/**
 * Has all later sessions of this process at a URL begin with the isolation and the durability that recording rests on.
 * `synchronous_commit` is raised to `on` where the role's default is lower; where the default also waits for standbys, it stays.
 * A pooler may refuse such settings, or drop them: answers what is missing then, or null. Never throws, like `agreeOnLimits`.
 */
export async function agreeOnGuards(url: string): Promise<Unguarded | null> {
  const refused: string[] = [];
  let guards: Guards = { default_transaction_isolation: 'read committed' };
  /** Asks again without what is refused. */
  const ask = async (): Promise<SessionFacts | null> => {
    for (;;) {
      setGuards(url, guards);
      const answer = await askSession(url, {});
      const named = refusedNames(answer, Object.keys(guards));
      if (named.length === 0) return answer === null || 'refusal' in answer ? null : answer;
      refused.push(...named);
      guards = without(guards, named);
    }
  };
  const before = guardsOf(url);
  const found = await ask();
  if (found === null) {
    setGuards(url, before);
    return null;
  }
  guards = { ...guards, synchronous_commit: LOSING.includes(found.commits) ? 'on' : found.commits };
  const { isolation, commits } = (await ask()) ?? found;
  const wrong = [
    ...(isolation === 'read committed' ? [] : [`default_transaction_isolation is ${isolation}`]),
    ...(LOSING.includes(commits) ? [`synchronous_commit is ${commits}`] : []),
  ];
  if (refused.length === 0 && wrong.length === 0) return null;
  return { refused, wrong, detail: wrong.length === 0 ? UNPINNED : `${wrong.join(' and ')}: ${UNGUARDED}` };
}

const UNPINNED =
  'The database server, or a pooler before it, does not take these settings at the start of a session. The defaults of the role are right, so nothing is wrong now; leave them as they are.';
const UNGUARDED =
  "the database server, or a pooler before it, does not take another value at the start of a session. Recordings fail, or a crash of the server loses what was recorded last. Set the defaults of the role: alter role … set default_transaction_isolation = 'read committed'; alter role … set synchronous_commit = on; then restart the daemon, and the pooler before it.";

interface SessionFacts {
  readonly isolation: string;
  readonly commits: string;
}

/** The settings of a new session, or why the server refused it; null where nothing answered. */
async function askSession(url: string, limits: ServerLimits): Promise<SessionFacts | { readonly refusal: string } | null> {
  const sql = connect(url, { max: 1, name: 'limits', limits, connectWithinSeconds: ASK_FOR_SECONDS });
  try {
    const [row] = await sql<[SessionFacts]>`
      select current_setting('default_transaction_isolation') as isolation, current_setting('synchronous_commit') as commits`;
    return row;
  } catch (error) {
    return error instanceof postgres.PostgresError ? { refusal: error.message } : null;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function refusedNames(answer: Awaited<ReturnType<typeof askSession>>, names: readonly string[]): string[] {
  return answer !== null && 'refusal' in answer ? namedIn(answer.refusal, names) : [];
}

const namedIn = (refusal: string, names: readonly string[]): string[] => names.filter((name) => refusal.includes(name));

const without = <Value>(settings: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)));

/**
 * For a command: how often the server looks whether the command is still there, and how long a statement waits for a lock. A
 * person's open transaction would otherwise make the command wait in silence.
 */
const COMMAND_LIMITS: ServerLimits = { client_connection_check_interval: 2_000, lock_timeout: 3_000 };

/**
 * Opens a pool for a command, whose statements may take as long as they need. When the command is killed, the server ends its
 * statement within seconds, and a lock of another session ends it, too, where the server takes these settings. Rejects as the
 * first query does.
 */
export async function connectForCommand(url: string, options: Pick<ConnectOptions, 'max' | 'name'>): Promise<Sql> {
  for (let limits = COMMAND_LIMITS; ; ) {
    const sql = connect(url, { ...options, limits });
    try {
      await sql`select 1`;
      return sql;
    } catch (error) {
      await sql.end({ timeout: 0 });
      const refused = error instanceof postgres.PostgresError ? namedIn(error.message, Object.keys(limits)) : [];
      if (refused.length === 0) throw error;
      limits = without(limits, refused);
    }
  }
}
