/**
 * Troubles that keep a running replica of the daemon from its work, as one symptom for all replicas, and in words. Pure.
 */

import { sentence } from '../values/sentence.ts';
import { type Instant, isoTime } from '../values/time.ts';
import { COMPARE, changeText, type DatabaseChange, lostSince } from './database-loss.ts';
import type { Symptom } from './symptom.ts';

/** Troubles in one event at most. */
const MOST_NAMED = 50;

/** The worse the later. From `not_judging` on it is critical. */
export const REPLICA_TROUBLES = [
  'settings_differ',
  'reaches_no_receiver',
  'reaches_no_site',
  'not_judging',
  'not_settling',
  'not_recording',
  'two_primaries',
  'database_went_back',
] as const;
export type ReplicaTroubleReason = (typeof REPLICA_TROUBLES)[number];

/** One reason why one replica cannot do its work. */
export interface ReplicaTrouble {
  readonly replica: string;
  /** Host and process id. */
  readonly host: string;
  readonly reason: ReplicaTroubleReason;
  readonly since: Instant;
  readonly error: string | null;
}

/** A loss of the database as a trouble of the replica that noticed it first; it begins where the loss does. */
export function lossTrouble(change: DatabaseChange): ReplicaTrouble {
  const { replica, host } = change;
  return { replica, host, reason: 'database_went_back', since: lostSince(change), error: `${sentence(changeText(change))}.` };
}

/** Reasons that ask something of people whatever else is wrong, so that people are alerted of each: a bit of the severity. */
const APART: ReadonlyMap<ReplicaTroubleReason, number> = new Map([
  ['two_primaries', 16],
  ['database_went_back', 32],
]);
const COMMON = 15;

/** How bad a reason is: its place, or its bit where it stands apart. */
export function replicaSeverity(reason: ReplicaTroubleReason): number {
  return APART.get(reason) ?? REPLICA_TROUBLES.indexOf(reason);
}

/** How bad reasons are together: the worst of those with one cause, and the bits of the others. */
function severityOf(reasons: readonly ReplicaTroubleReason[]): number {
  const severities = reasons.map(replicaSeverity);
  const apart = severities.filter((severity) => severity > COMMON).reduce((sum, bit) => sum | bit, 0);
  return apart + Math.max(0, ...severities.filter((severity) => severity <= COMMON));
}

/** Whether a severity holds a reason apart, or a worse common one, of which people were not alerted. Other kinds of incidents have none apart. */
export function isWorse(severity: number, alerted: number): boolean {
  return (severity & COMMON) > (alerted & COMMON) || (severity & ~COMMON & ~alerted) !== 0;
}

/** The severity that people were alerted of after another alert. */
export function togetherAlerted(alerted: number, severity: number): number {
  return Math.max(alerted & COMMON, severity & COMMON) + ((alerted | severity) & ~COMMON);
}

/** Of the severity that people were alerted of, what still counts: a reason apart that is over is news when it comes again. */
export function stillAlerted(alerted: number | null, severity: number): number | null {
  return alerted === null ? null : alerted & (COMMON | severity);
}

/** All troubles as one symptom, because they have one cause most of the time; none while there are none. */
export function replicaSymptoms(troubles: readonly ReplicaTrouble[]): Symptom[] {
  if (troubles.length === 0) return [];
  const severity = severityOf(troubles.map(({ reason }) => reason));
  const count = new Set(troubles.map(({ replica }) => replica)).size;
  const since = Math.min(...troubles.map((trouble) => trouble.since));
  return [{ kind: 'replica', site: null, state: null, subscriber: null, severity, count, since }];
}

/** The reasons among some troubles, the worst first. */
export function reasonsOf(troubles: readonly Pick<ReplicaTrouble, 'reason'>[]): ReplicaTroubleReason[] {
  return REPLICA_TROUBLES.filter((reason) => troubles.some((trouble) => trouble.reason === reason)).toReversed();
}

/**
 * Of each reason what is wrong and that it is over, as clauses, and what it means for purchases and receivers; `left` is what people have
 * to do when it is over.
 */
export const REPLICA_WORDS: Readonly<
  Record<ReplicaTroubleReason, Record<'wrong' | 'over' | 'meaning', string> & { left?: string }>
> = {
  not_recording: {
    wrong: 'polls are not recorded',
    over: 'polls are recorded again',
    meaning:
      'No change of a purchase is recorded or delivered meanwhile. Nothing is lost: every due purchase is polled again once polls can be recorded.',
  },
  not_settling: {
    wrong: 'results of deliveries are not recorded',
    over: 'results of deliveries are recorded again',
    meaning:
      'Nothing new is sent to receivers meanwhile. Nothing is lost: what was sent is recorded and what is due is sent once results can be recorded.',
  },
  not_judging: {
    wrong: 'incidents are not judged',
    over: 'incidents are judged again',
    meaning: 'No alert about customers, sites or subscribers is made meanwhile. What is wrong then follows once judging works.',
  },
  two_primaries: {
    wrong: 'two database servers take writes',
    over: 'one database server takes writes',
    meaning:
      'The daemon uses the server that was promoted last. What a shop or another daemon writes to the other server is not polled, delivered or alerted.',
    left: 'What was written to the other server is not in the database that is used. Before its data is deleted, look there for purchases that were registered meanwhile (`purchase_watch.purchases`), and register them again.',
  },
  settings_differ: {
    wrong: 'daemons have different settings',
    over: 'all daemons have the same settings again',
    meaning:
      'What is polled, delivered and alerted depends on which daemon does it. Purchases of a site and deliveries to a subscriber that only one daemon names wait until that daemon has their turn, 20 s or longer. Nothing is lost.',
  },
  reaches_no_site: {
    wrong: 'a daemon reaches no checkout service',
    over: 'every daemon reaches the checkout service again',
    meaning: 'The other daemons poll its purchases. Nothing is lost.',
  },
  reaches_no_receiver: {
    wrong: 'a daemon reaches no receiver',
    over: 'every daemon reaches receivers again',
    meaning: 'The other daemons send its deliveries. Nothing is lost.',
  },
  database_went_back: {
    wrong: 'the database came back without its last writes',
    over: 'the alert about writes that the database lost ends; they stay lost',
    meaning:
      'Purchases that were registered after that time are not watched any more. Changes that were recorded after it are recorded and delivered once more, as new events, when the next polls show them. What people did after it (silences, erasures of customers) is undone.',
  },
};

/** Whether a loss of the database is among the reasons of a severity. */
export const isDatabaseLoss = (severity: number): boolean => (severity & replicaSeverity('database_went_back')) !== 0;

/** The worst reason of a severity; null for one of a later version. */
export function worstReason(severity: number): ReplicaTroubleReason | null {
  return REPLICA_TROUBLES.findLast((each) => (APART.get(each) ?? 0) & severity) ?? REPLICA_TROUBLES[severity] ?? null;
}

/** The worst trouble, as a clause, by the severity of an incident. */
export function worstWrong(severity: number): string {
  const reason = worstReason(severity);
  return reason === null ? 'a daemon cannot do its work' : REPLICA_WORDS[reason].wrong;
}

/** By what Postgres, the network or this program says: why the database does not do what is asked of it, and what to do, as clauses. */
const CAUSES: readonly { readonly pattern: RegExp; readonly cause: string; readonly cure: string }[] = [
  {
    pattern: /\bit is an old primary\b|\bholds another database\b/,
    cause: 'the only hosts of DATABASE_URL that take writes are not the database that was used until now',
    cure: 'start that one, or, if another one shall be used from now on, restart every daemon',
  },
  {
    pattern: /\bNO_PRIMARY\b/,
    cause: 'no host of DATABASE_URL takes writes',
    cure: 'start the primary or promote a standby, and let DATABASE_URL name it',
  },
  {
    pattern: /\b25006\b|read-only transaction|\bis read-only\b/i,
    cause: 'the database is read-only',
    cure: 'point DATABASE_URL at the primary server, or end its read-only mode',
  },
  { pattern: /\b53100\b|no space left/i, cause: 'the disk of the database is full', cure: 'free space there' },
  {
    pattern: /NOTIFY queue/i,
    cause: 'the notification queue of the database is full',
    cure: 'end the session with the oldest transaction in pg_stat_activity (xact_start)',
  },
  {
    pattern: /\b42501\b|permission denied/i,
    cause: 'the role of DATABASE_URL lacks a permission',
    cure: 'grant it what `purchase-watch migrate` names',
  },
  {
    pattern: /\b53300\b|too many (clients|connections)/i,
    cause: 'the database has no connection left',
    cure: 'end some, or raise max_connections',
  },
  {
    pattern: /\b(55P03|57014|40P01)\b|(lock|statement) timeout/i,
    cause: 'another session holds a lock, or the database is overloaded',
    cure: 'look into pg_stat_activity and end that session',
  },
  {
    pattern: /\b(ECONN\w+|CONNECT\w*|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_\w+|57P0\d|08\w{3}|28\w{3}|3D000)\b/,
    cause: 'the daemon gets no usable connection to the database',
    cure: 'check that it runs, that the network leads there and that DATABASE_URL is right',
  },
];

const OTHERWISE = 'Look at the log of the daemon and of the database.';
const NETWORK = 'Check the network, name server and proxy of the host that is named here.';
/** Remedies that no error decides. */
const REMEDIES: Readonly<Partial<Record<ReplicaTroubleReason, string>>> = {
  database_went_back: `${sentence(COMPARE)}.`,
  two_primaries:
    'Stop the server that is not used, now, and keep its data. Rebuild it as a standby of the other one (pg_rewind or pg_basebackup) before it is started again.',
  settings_differ:
    'Give every daemon the same settings file and variables, and restart the daemons that have others; `purchase-watch config` shows the settings of a terminal, the page /system those of a daemon.',
  reaches_no_site: NETWORK,
  reaches_no_receiver: NETWORK,
};

/** Why the database refuses, and what to do, by the text or the code of its error: the first that fits; null for what is not known here. */
export function databaseCause(error: string): { readonly cause: string; readonly cure: string } | null {
  return CAUSES.find(({ pattern }) => pattern.test(error)) ?? null;
}

/** The remedy of a trouble, in a sentence. */
export function replicaRemedy({ reason, error }: Pick<ReplicaTrouble, 'reason' | 'error'>): string {
  const remedy = REMEDIES[reason];
  if (remedy !== undefined) return remedy;
  const known = error === null ? null : databaseCause(error);
  return known === null ? OTHERWISE : `${sentence(known.cause)}: ${known.cure}.`;
}

/** The remedies of all troubles, each once: a remedy that is known to help stands before a look at the logs. */
export function replicaRemedies(troubles: readonly ReplicaTrouble[]): string[] {
  const remedies = new Set(troubles.map(replicaRemedy));
  const isVague = remedies.delete(OTHERWISE);
  return [...remedies, ...(isVague ? [OTHERWISE] : [])];
}

/** The fields of an event about troubles beside those of every incident's event. */
export function replicaData(troubles: readonly ReplicaTrouble[]) {
  return { troubles: troubles.slice(0, MOST_NAMED).map(({ since, ...trouble }) => ({ ...trouble, since: isoTime(since) })) };
}

/** The troubles and their remedy as text for the log. */
export function replicaSentence(troubles: readonly ReplicaTrouble[], isOver: boolean): string {
  const clauses = reasonsOf(troubles).map((reason) => REPLICA_WORDS[reason][isOver ? 'over' : 'wrong']);
  if (clauses.length === 0) return isOver ? 'Every replica does its work again.' : 'A replica cannot do its work.';
  const [first] = troubles.toSorted((a, b) => replicaSeverity(b.reason) - replicaSeverity(a.reason));
  const rest = isOver || first === undefined ? [] : [ended(first.error ?? ''), replicaRemedy(first)];
  return [`${sentence(clauses.join('; '))}.`, ...rest].filter((part) => part !== '').join(' ');
}

/** The error of another program, as a sentence that the next one may follow. */
function ended(error: string): string {
  const text = error.replace(/\s+/g, ' ').trim();
  return sentence(/^$|[.!?]$/.test(text) ? text : `${text}.`);
}
