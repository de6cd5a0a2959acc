/**
 * Asks the server, or a pooler before it, with which settings a session may begin. PgBouncer refuses a session with settings
 * that PgBouncer does not know, and names one of them; servers on some platforms lack others. In transaction mode a pooler
 * keeps no setting of a session at all.
 */

import postgres from 'postgres';
import type { PoolMode } from '../../config/kinds/connection-shares.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { type Agreed, agree, agreedOn, type SessionSettings } from './agreed.ts';
import { type ConnectOptions, connect, EVERY_PLAN, type Queries, type Sql } from './database.ts';
import { firstValue } from './rows.ts';
import type { SessionLimits } from './session-limits.ts';

/** For a person: what sessions lack. */
export type Lacking = ReturnType<typeof lackingIn>;

/** Values of `synchronous_commit` that lose answered commits; the others also wait for standbys, as an operator may choose. */
const LOSING: readonly string[] = ['off', 'local'];
/** The longest that a start waits for an answer. */
const ASK_FOR_SECONDS = 3;
/** Limits of the role or the pooler that are shorter end statements that the daemon needs. */
const SHORTEST_LIMIT: Milliseconds = 5_000;
const SHORTEST_LOCK_LIMIT: Milliseconds = 100;
/** With many servers behind a pooler two transactions may meet the same one by chance, or miss each other. */
const TRIES = 3;
/** A pooler in statement mode closes each transaction, an unsteady network some: that many in a row are no chance. */
const CLOSED_IN_A_ROW = 10;

/**
 * Has all later sessions of this process at a URL begin with the isolation and the durability that recording rests on, and with
 * what else is taken. `synchronous_commit` is raised to `on` where the role's default is lower; where the default also waits for
 * standbys, it stays. Throws AppError `configuration` for a pooler in statement mode, and nothing else: any other fault of the
 * address shows with the next connection. Answers those of the limits with which a session begins, and null where sessions are as the
 * daemon wants them.
 */
export async function agreeOnSession(
  url: string,
  { sessionLimits = {}, poolMode }: { sessionLimits?: SessionLimits; poolMode?: PoolMode } = {},
): Promise<{ sessionLimits: SessionLimits; isPooled: boolean; lacking: Lacking }> {
  const before = agreedOn(url);
  // Asked once for each process; what is refused to a command is refused to the loops, too.
  const refused = [...before.refused];
  const known = before.isPooled ? 'transaction' : 'session';
  const isPooled = poolMode === 'auto' ? await isTransactionPooled(url) : (poolMode ?? known) === 'transaction';
  const ask = async (guards: SessionSettings): Promise<SessionFacts | null> => {
    for (;;) {
      agree(url, { guards, refused, isPooled });
      const answer = await askSession(url, sessionLimits);
      const wanted = Object.keys({ ...EVERY_PLAN, ...sessionLimits, ...guards });
      const named = typeof answer === 'string' ? wanted.filter((name) => answer.includes(name) && !refused.includes(name)) : [];
      if (named.length === 0) return typeof answer === 'string' ? null : answer;
      refused.push(...named);
    }
  };
  const guards = { default_transaction_isolation: 'read committed' };
  const first = await ask(guards);
  if (first === null) {
    // A refused setting stays out, so that the next connection meets, and names, what is wrong besides.
    agree(url, { ...before, refused });
    return { sessionLimits, isPooled, lacking: null };
  }
  const facts = (await ask({ ...guards, synchronous_commit: LOSING.includes(first.commits) ? 'on' : first.commits })) ?? first;
  const taken = Object.entries(sessionLimits).filter(([name]) => !isPooled && !refused.includes(name));
  return { sessionLimits: Object.fromEntries(taken), isPooled, lacking: lackingIn(facts, agreedOn(url)) };
}

interface SessionFacts {
  readonly role: string;
  readonly isolation: string;
  readonly commits: string;
  /** Each limit, in milliseconds and as a person writes it: `statement_timeout 500 500ms`, with 0 for none. */
  readonly limits: readonly string[];
}

/** The settings of a new session, or why the server refused it; null where nothing answered. */
async function askSession(url: string, sessionLimits: SessionLimits): Promise<SessionFacts | string | null> {
  const sql = connect(url, { ...once('limits'), sessionLimits, steadyPlans: true, orderedPlans: true });
  try {
    const [row] = await sql<[SessionFacts]>`
      select current_user as role, current_setting('default_transaction_isolation') as isolation,
        current_setting('synchronous_commit') as commits,
        array(select name || ' ' || setting || ' ' || current_setting(name) from pg_settings
          where name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout') order by name) as limits`;
    return row;
  } catch (error) {
    return error instanceof postgres.PostgresError ? error.message : null;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

const once = (name: string) => ({ max: 1, name, prepared: false, connectWithinSeconds: ASK_FOR_SECONDS });

/**
 * Whether two clients at once get the same session of the server, or one client gets two, as only behind a pooler in
 * transaction mode. False where nothing answers. Throws for a pooler in statement mode, which closes a connection with a
 * transaction each time, while it answers other statements.
 */
async function isTransactionPooled(url: string): Promise<boolean> {
  const [one, other] = [connect(url, { ...once('pooler'), bare: true }), connect(url, { ...once('pooler'), bare: true })];
  let closed = 0;
  try {
    for (let tries = 0; tries < TRIES || (closed === tries && closed < CLOSED_IN_A_ROW); tries++) {
      const mine = await sessionOf(one);
      const transaction = other.begin(async (tx) => (await sessionOf(tx)) === mine || (await sessionOf(one)) !== mine);
      const isShared = await transaction.catch((error: unknown) => {
        const { code, message } = error as { code?: unknown; message?: unknown };
        if (code !== 'CONNECTION_CLOSED' && !/statement pooling/.test(`${message}`)) throw error;
        closed++;
      });
      if (isShared === true) return true;
    }
  } catch {
    return false;
  } finally {
    await Promise.all([one.end({ timeout: 0 }), other.end({ timeout: 0 })]);
  }
  if (closed === CLOSED_IN_A_ROW) throw new AppError('configuration', STATEMENT_MODE);
  return false;
}

const sessionOf = (sql: Queries) => firstValue<number>(sql`select pg_backend_pid() as pid`);

const STATEMENT_MODE =
  'DATABASE_URL leads to a pooler in statement mode, which takes no transactions: set pool_mode = transaction or session for this database in the file of the pooler';

function lackingIn({ role, isolation, commits, limits: all }: SessionFacts, { refused, isPooled }: Agreed) {
  const wrong = [
    ...(isolation === 'read committed' ? [] : [`default_transaction_isolation is ${isolation}`]),
    ...(LOSING.includes(commits) ? [`synchronous_commit is ${commits}`] : []),
  ];
  const limitsOf = all.map((limit) => limit.split(' ') as [name: string, ms: string, text: string]);
  const unlimited = limitsOf.filter(([, ms]) => ms === '0').map(([name]) => name);
  const tight = limitsOf.filter(
    ([name, ms]) => ms !== '0' && Number(ms) < (name === 'lock_timeout' ? SHORTEST_LOCK_LIMIT : SHORTEST_LIMIT),
  );
  const isUnlimited = unlimited.length > 0 && (isPooled || refused.some((name) => unlimited.includes(name)));
  if (wrong.length === 0 && refused.length === 0 && !isUnlimited && tight.length === 0) return null;
  const changed = [...(isUnlimited ? unlimited : []), ...tight.map(([name]) => name)];
  const defaults = [
    ...(isolation === 'read committed' ? [] : ["default_transaction_isolation = 'read committed'"]),
    ...(LOSING.includes(commits) ? ['synchronous_commit = on'] : []),
    ...changed.map((name) => `${name} = '${LIMITS_OF_ROLE.get(name)}'`),
  ].map((setting) => `alter role ${role} set ${setting}`);
  const detail = [
    ...(isPooled ? [POOLED] : refused.length > 0 ? [REFUSED] : []),
    ...(wrong.length > 0 ? [`${wrong.join(' and ')}: ${UNGUARDED}`] : []),
    ...(isUnlimited ? [UNLIMITED] : []),
    ...(tight.length > 0
      ? [`${tight.map(([name, , text]) => `${name} = ${text}`).join(' and ')}: the server ends what the daemon has under way.`]
      : []),
  ].join(' ');
  const advice = [
    ...(defaults.length > 0
      ? [`let the defaults of the role be right, and restart the daemon and the pooler: ${defaults.join('; ')}`]
      : []),
    ...(refused.length > 0
      ? [`in the file of PgBouncer, so that no session is refused: ignore_startup_parameters = ${refused.join(',')}`]
      : []),
  ];
  return {
    /** Settings with which a session cannot begin. */
    refused,
    /** Settings on which recording rests and that are not as they must be, with what they are. */
    wrong,
    detail,
    advice: advice.join('; '),
  };
}

const LIMITS_OF_ROLE: ReadonlyMap<string, string> = new Map([
  ['lock_timeout', '1s'],
  ['statement_timeout', '12s'],
  ['idle_in_transaction_session_timeout', '15s'],
]);
const POOLED = 'A pooler in transaction mode is before the database server, which keeps no settings of sessions.';
const REFUSED =
  'The database server, or a pooler before it, does not take these settings at the start of a session, so sessions begin without them.';
const UNGUARDED = 'recordings fail, or a crash of the server loses what was recorded last.';
const UNLIMITED =
  'A statement that waits for a lock holds up the others of its connection, and can hold its connection at the server after the daemon gave it up.';

/**
 * For a command: a statement takes as long as it needs, whatever the limit of the role; how often the server looks whether the
 * command is still there; how long a statement waits for a lock. A person's open transaction would otherwise make the command
 * wait in silence.
 */
const COMMAND_LIMITS: SessionLimits = { statement_timeout: 0, client_connection_check_interval: 2_000, lock_timeout: 3_000 };

/** Of `connectForCommand`. */
export interface CommandOptions extends Pick<ConnectOptions, 'max' | 'name'> {
  readonly onWrong?: (sentence: string) => void;
  readonly agreed?: { readonly sessionLimits: SessionLimits; readonly lacking?: Lacking } | undefined;
}

/**
 * Opens a pool for a command, whose statements may take as long as they need. When the command is killed, the server ends its
 * statement within seconds, and a lock of another session ends it, too, where the server takes these settings. No statement is
 * prepared, since commands run each statement once, and a pooler may hand out another session. `onWrong` is given a sentence for
 * a person when recording cannot rest on the settings of sessions. `agreed`: the answer of `agreeOnSession`, where this process
 * has asked about these limits at this URL before; they are not asked about again. Rejects as the first query does.
 */
export async function connectForCommand(url: string, { onWrong, agreed, ...options }: CommandOptions): Promise<Sql> {
  const { sessionLimits: taken, lacking = null } = agreed ?? (await agreeOnSession(url, { sessionLimits: COMMAND_LIMITS }));
  if (lacking !== null && lacking.wrong.length > 0) onWrong?.(`${lacking.detail} ${lacking.advice}`);
  const sessionLimits = Object.fromEntries(Object.entries(COMMAND_LIMITS).filter(([name]) => name in taken));
  const sql = connect(url, { ...options, sessionLimits, prepared: false });
  try {
    await sql`select 1`;
    return sql;
  } catch (error) {
    await sql.end({ timeout: 0 });
    throw error;
  }
}
