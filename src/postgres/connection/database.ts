/** The connection to Postgres: exact numbers, clear failures, the database's clock. */

import postgres from 'postgres';
import * as postgresArray from 'postgres-array';
import { type JsonValue, parseExact, stringifyExact } from '../../domain/values/exact-json.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { createTurns } from '../../runtime/loops/turns.ts';
import { monotonic } from '../../runtime/time.ts';
import { type ParsedUrl, parseDatabaseUrl } from '../address/database-url.ts';
import { agreedOn, settingsAtStart } from './agreed.ts';
import { INSTANTS_AS_READ, parseInstant, writeInstant } from './instants.ts';
import { hostsOf } from './primary.ts';
import { createSockets, type SocketOptions } from './watched-socket.ts';
import { endedWithConnection, fromFirstRow, inTurns, noticeReadOnly, wrapPool } from './wrapped-pool.ts';

interface OwnTypes extends Record<string, unknown> {
  bigint: number | bigint;
  json: JsonValue;
}

/** A pool of connections; queries are tagged templates. */
export type Sql = postgres.Sql<OwnTypes>;
/** The runner of queries: the pool, or a transaction that its `begin` opened. */
export type Queries = postgres.ISql<OwnTypes>;
/** A piece of a statement, to be put into another statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

export interface ConnectOptions {
  /** Connections at most, 10 by default. They are opened when needed. */
  readonly max?: number;
  /** Shown as `application_name` in pg_stat_activity, after `purchase-watch`. */
  readonly name?: string;
  /** Called with the server's notices, which are dropped by default. */
  readonly onNotice?: (notice: postgres.Notice) => void;
  /** For the loops' queries, which run all the time over lists of any length: plans that never depend on the moment. */
  readonly steadyPlans?: boolean;
  /** For the outbox: an index that has the order asked for, before any other. */
  readonly orderedPlans?: boolean;
  /** A connection whose server is silent for that long while it owes an answer is broken off; by default never. */
  readonly answerWithin?: Milliseconds;
  /** Limits of the server for each session; see session-limits.ts. None by default, because commands may run long statements. */
  readonly sessionLimits?: Readonly<Record<string, Milliseconds>>;
  /** In place of the URL's `connect_timeout`. */
  readonly connectWithinSeconds?: number;
  /** Whether statements are prepared, as they are by default; never behind a pooler in transaction mode. */
  readonly prepared?: boolean;
  /** A session that begins without settings, which anything that speaks the protocol takes; for questions of a start. */
  readonly bare?: boolean;
}

/** An array's element as text inside `{…}`. */
export const arrayElement = (value: unknown): string =>
  value === null || value === undefined ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`;

/** The type of an array, by the number that Postgres gives it. */
function arrayOf<T>(oid: number, parse: (text: string) => T) {
  return {
    to: oid,
    from: [oid],
    parse: (text: string): T[] => postgresArray.parse(text, parse),
    // A list that is already written as `{…}` is sent unchanged.
    serialize: (list: readonly unknown[] | string): string =>
      typeof list === 'string' ? list : `{${list.map(arrayElement).join()}}`,
  };
}

/** Reads a whole number; a value that a number would round becomes a bigint. */
function parseWhole(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

const types = {
  instant: { to: 1184, from: [1184], parse: parseInstant, serialize: writeInstant },
  instants: arrayOf(1185, parseInstant),
  bigint: { to: 20, from: [20], parse: parseWhole, serialize: String },
  // The driver's own parser rounds amounts (249.50 becomes 249.5).
  json: { to: 114, from: [114, 3802], parse: parseExact, serialize: stringifyExact },
  // Without these types the driver would query each new connection for array types, and end the process when the connection breaks during that query.
  booleans: arrayOf(1000, (text) => text === 't'),
  smallints: arrayOf(1005, Number),
  integers: arrayOf(1007, Number),
  texts: arrayOf(1009, String),
  bigints: arrayOf(1016, parseWhole),
  floats: arrayOf(1022, Number),
  documents: arrayOf(3807, parseExact),
} satisfies Record<string, postgres.PostgresType>;

/**
 * Opens a pool. Nothing is dialled before the first query, so a wrong address shows up there.
 *
 * - `json` and `jsonb` keep digits: amounts come as Decimals and go back digit for digit. A parameter of such a type is
 *   serialized here; JSON that is text already must be marked, or it is stored as a string: `${text}::text::jsonb`. Send
 *   lists the same way (`${texts}::text[]`, cast in SQL): in a `jsonb[]` parameter the driver mistakes an element with a
 *   `type` field for one of its own wrappers.
 * - Columns of rows are in camel case: `purchase_id` comes as `purchaseId`.
 * - `int8` is a number, or a bigint beyond 2^53. `numeric` stays text.
 * - `timestamptz` is an Instant, with microseconds as a fraction; a parameter of that type takes one: `${now}::timestamptz`.
 * - TLS follows the URL's `sslmode` as libpq reads it (`prefer` when it is missing).
 */
export function connect(url: string, options: ConnectOptions = {}): Sql {
  const { max = 10, name, onNotice = () => {}, steadyPlans = false, orderedPlans = false } = options;
  const { answerWithin, sessionLimits = {}, connectWithinSeconds, bare = false, prepared = !bare } = options;
  const isPrepared = prepared && !agreedOn(url).isPooled;
  const parsed = parseDatabaseUrl(url);
  const application = name === undefined ? 'purchase-watch' : `purchase-watch ${name}`;
  const sockets = socketsFor(parsed, { answerWithin, connectWithinSeconds });
  const sql = open(parsed, sockets, {
    ...(connectWithinSeconds === undefined ? {} : { connect_timeout: connectWithinSeconds }),
    max,
    // Tries once a second, to find a database soon that is back; the driver's own rests grow to twenty seconds.
    backoff: (tries: number) => Math.min(0.05 * 2 ** tries, 1),
    ...(answerWithin === undefined ? {} : { idle_timeout: answerWithin / 2_000 }),
    onnotice: onNotice,
    prepare: isPrepared,
    connection: {
      application_name: application,
      ...INSTANTS_AS_READ,
      ...(bare
        ? {}
        : settingsAtStart(url, {
            ...PLANS,
            ...(steadyPlans && STEADY_PLANS),
            ...(orderedPlans && ORDERED_PLANS),
            ...sessionLimits,
          })),
    },
  });
  // A statement that is not prepared asks for its types first, which is no end of a transaction: behind another statement on the
  // same connection, a pooler takes the session away before the answer, and PgBouncer 1.18 then answers nothing.
  const pool = isPrepared ? sql : inTurns(sql, createTurns({ most: max }));
  return sockets.breakAll === null ? pool : noticeReadOnly(pool, sockets.breakAll);
}

/** A column is renamed when a statement is described, not with each row. Names in JSON, and those that a statement itself uses, stay. */
const IN_CAMEL_CASE = { column: { from: postgres.toCamel } };

function socketsFor(parsed: ParsedUrl, options: Omit<SocketOptions, 'findHost'>) {
  return createSockets(parsed, { ...options, findHost: hostsOf(parsed)?.find });
}

/** A pool on these sockets. When the pool has ended, no socket of it is left. */
function open(
  parsed: ParsedUrl,
  sockets: ReturnType<typeof createSockets>,
  options: postgres.Options<Record<string, postgres.PostgresType>>,
): Sql {
  // The driver's TypeScript types lack the option `socket`.
  const given = {
    ...parsed.options,
    socket: sockets.dial,
    types,
    transform: IN_CAMEL_CASE,
    fetch_types: false,
    ...options,
  };
  const sql = postgres(parsed.url, given) as unknown as Sql;
  const { end } = sql;
  sql.end = (how) => end(how).finally(sockets.close);
  return wrapPool(sql, fromFirstRow, endedWithConnection);
}

/**
 * One connection beside a pool, to the same database; the caller ends the pool that is returned. The driver's `reserve` is not used:
 * a statement on a reserved connection that is lost ends the process.
 */
export const openAside = (pool: Sql): Sql => postgres({ ...pool.options, max: 1 } as never) as unknown as Sql;

/** Compiling a query (JIT) takes longer than any query here runs. */
const PLANS = { jit: 'off' };
/**
 * By default the planner reads the whole table when its statistics say that the table is empty, or when a list is long. With
 * these settings it makes one plan for lists of any length, and uses an index wherever an index serves.
 */
const STEADY_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' };
/**
 * The indexes of pending deliveries are empty most of the time, and the planner's statistics say so: to find one lane, the
 * planner takes any of these indexes, reads a whole backlog and sorts it. So a statement that must use an index asks for that
 * index's order, and the planner sorts only where no index has the order.
 */
const ORDERED_PLANS = { enable_sort: 'off' };
/** All settings of the planner that any pool asks for. */
export const EVERY_PLAN = { ...PLANS, ...STEADY_PLANS, ...ORDERED_PLANS };

/** One connection outside of pools: its notifications and session locks end with it. */
export type Session = ReturnType<typeof openSession>;

/** As sessionLimitsFor has it. */
const UNENDED = { idle_session_timeout: 0 };

/**
 * Opens a session with its first query. Unlike a pool's connections it is never replaced by another one. `closed` resolves when
 * the connection is gone; the next query would open another one.
 */
export function openSession(url: string, name: string, onNotify?: (channel: string, payload: string) => void) {
  const parsed = parseDatabaseUrl(url);
  const closed = Promise.withResolvers<void>();
  const sql = open(parsed, socketsFor(parsed, {}), {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    connection: { application_name: `purchase-watch ${name}`, ...INSTANTS_AS_READ, ...settingsAtStart(url, UNENDED) },
    prepare: !agreedOn(url).isPooled,
    onnotice: () => {},
    onclose: () => closed.resolve(),
    ...(onNotify === undefined ? {} : { onnotify: onNotify }),
  });
  return { sql, closed: closed.promise };
}

/** Readings of the clock taken in a row; the quickest reading counts, because its moment is known most exactly. */
const READINGS = 3;

/** The database's clock, and the monotonic moment of this process at which it showed that (the middle of the round trip). */
export function readClock(sql: Sql): Promise<{ now: Instant; readAt: Milliseconds }> {
  // One transaction keeps the readings on a connection that is open already: dialling would count as round trip.
  return sql.begin('read only', async (tx) => {
    let best: { now: Instant; readAt: Milliseconds; took: Milliseconds } | undefined;
    for (let reading = 0; reading < READINGS; reading++) {
      const asked = monotonic();
      const [row] = await tx<[{ now: Instant }]>`select clock_timestamp() as now`;
      const took = monotonic() - asked;
      if (best === undefined || took < best.took) best = { now: row.now, readAt: asked + took / 2, took };
    }
    return { now: best!.now, readAt: best!.readAt };
  });
}

/**
 * Whether an error is about a statement's data, and not about the database's condition: classes 22, 23 and 44, a program limit, a
 * trigger's `raise exception`, or nesting too deep.
 */
export function isAboutData(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(?:2[23]|44)...$|^54000$|^P0001$/.test(code);
}

/** Whether the server ended a statement because it waited too long for a lock (`lock_timeout`, or `nowait`). */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '55P03';
}
