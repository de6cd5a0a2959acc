/** Checks the database: reachable, new enough, durable, with the rights and the schema that the daemon needs, and its clock. */

import { CONNECTIONS } from '../../config/kinds/connection-shares.ts';
import type { Settings } from '../../config/settings.ts';
import { replicaRemedy } from '../../domain/incidents/replica-trouble.ts';
import { queueTrouble } from '../../domain/replicas/notification-queue.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { describeConnectionError, describeTarget, parseDatabaseUrl } from '../../postgres/address/database-url.ts';
import { missingRight } from '../../postgres/address/missing-right.ts';
import { hostName, rivalry } from '../../postgres/connection/choose-host.ts';
import { connect, openSession, type Sql } from '../../postgres/connection/database.ts';
import { hostsOf } from '../../postgres/connection/primary.ts';
import { wrongEncoding } from '../../postgres/migrations/encoding.ts';
import { isUsable, schemaDifference, schemaStatus } from '../../postgres/migrations/schema.ts';
import { type ServerFacts, serverFacts } from '../../postgres/reports/inspect.ts';
import { randomBytes } from '../../runtime/random.ts';
import { delay, startTimer } from '../../runtime/time.ts';
import type { Finding, Reporter } from '../overview/finding.ts';
import { runningReplicas } from '../running-replicas.ts';
import { databaseClock } from './clocks.ts';

const OLDEST_VERSION = 150_000;
/** How long sessions may take to be there all at once. */
const OPEN_WITHIN: Milliseconds = 3_000;
/** A replica can be replaced by another one while it still runs. */
const LEAST_REPLICAS = 2;
const ARRIVES_WITHIN: Milliseconds = 3_000;

export async function checkDatabase(
  report: Reporter,
  { sql, url, settings, migrations }: { sql: Sql; url: string; settings: Settings; migrations: string },
): Promise<Finding[]> {
  const facts = await factsBesideOthers(sql);
  const wrong = wrongEncoding(facts);
  if (wrong !== null) return [version(report, facts, describeTarget(url)), report.failed(wrong.found, wrong.todo)];
  try {
    return [
      version(report, facts, describeTarget(url)),
      ...(await hosts(report, url)),
      ...rights(report, facts),
      await schema(report, { sql, migrations, role: facts.role }),
      ...roles(report, facts),
      ...durability(report, facts),
      ...replication(report, facts),
      await connections(report, facts, { sql, url, each: settings.connections }),
      ...notificationQueue(report, facts),
      await notifications(report, sql, settings.listenUrl ?? url),
      await databaseClock(report, sql),
    ];
  } catch (error) {
    if (!hasNoConnections(error)) throw error;
    // The facts that were read already show which limit is reached, and by how much.
    const found = [version(report, facts, describeTarget(url)), report.failed(describeConnectionError(url, error), UNCHECKED)];
    const limit = limitReached(report, facts, { replicas: LEAST_REPLICAS, each: settings.connections });
    return limit === null ? found : [...found, limit];
  }
}

/** The other checks of doctor run at the same time, and may have the last connection for a moment. */
async function factsBesideOthers(sql: Sql, tries = 10): Promise<ServerFacts> {
  try {
    return await serverFacts(sql);
  } catch (error) {
    if (tries <= 1 || !hasNoConnections(error)) throw error;
    await delay(200);
    return factsBesideOthers(sql, tries - 1);
  }
}

const UNCHECKED = 'nothing else of the database was checked: mend that, and run doctor again';

const hasNoConnections = (error: unknown): boolean => Object(error).code === '53300';

function version(report: Reporter, { version, versionText, role }: ServerFacts, where: string): Finding {
  const found = `Postgres ${versionText} at ${where}, as role ${role}`;
  if (version >= OLDEST_VERSION) return report.ok(found);
  return report.failed(found, 'version 15 or newer is needed: upgrade Postgres');
}

/** Which one of several hosts is used, and why each of the others is not. */
async function hosts(report: Reporter, url: string): Promise<Finding[]> {
  const several = hostsOf(parseDatabaseUrl(url));
  if (several === undefined) return [];
  const { primary, rivals, refusals } = await several.look();
  const others = refusals.length === 0 ? '' : `; not ${refusals.join(', ')}`;
  if (rivals.length === 0) return [report.ok(`of its hosts ${hostName(primary.host)} is used${others}`)];
  const todo = replicaRemedy({ reason: 'two_primaries', error: null });
  return [report.failed(`two servers take writes: ${rivalry(primary, rivals)}`, todo)];
}

function rights(report: Reporter, { isReplica, readOnly, mayCreate, role, hasSchema }: ServerFacts): Finding[] {
  if (isReplica) return [report.failed('this server is a read-only standby', 'let DATABASE_URL lead to the primary')];
  const writable = `alter role ${role} set default_transaction_read_only = off`;
  if (readOnly) return [report.failed(`transactions of role ${role} are read-only`, writable)];
  if (mayCreate) return [];
  const what = hasSchema ? 'tables in the schemas purchase_watch and purchase_watch_internal' : 'a schema in this database';
  return [
    report.failed(`role ${role} may not create ${what}`, 'migrate as the owner of the schema, or grant create to this role'),
  ];
}

async function schema(
  report: Reporter,
  { sql, migrations, role }: { sql: Sql; migrations: string; role: string },
): Promise<Finding> {
  try {
    const status = await schemaStatus(sql, migrations);
    const lacking = `the schema lacks ${status.pending.map(({ name }) => name).join(', ')}`;
    if (!isUsable(status)) return report.warning(lacking, 'run "purchase-watch migrate"; "purchase-watch start" does it too');
    const difference = schemaDifference(status);
    return difference === null ? report.ok('the schema is up to date') : report.warning(difference.found, difference.todo);
  } catch (error) {
    const right = missingRight(error, role);
    if (right !== null) return report.failed('the schema could not be read', right);
    if (!(error instanceof AppError)) throw error;
    return report.failed('the schema is not that of this version', error.message);
  }
}

function roles(report: Reporter, { missingRoles, hasSchema }: ServerFacts): Finding[] {
  if (missingRoles.length === 0 || !hasSchema) return [];
  const todo = `only needed by programs that use SQL: ${missingRoles.map((name) => `create role ${name} nologin`).join('; ')}; select purchase_watch.set_up_roles()`;
  return [report.warning(`there is no role ${missingRoles.join(' and none ')}`, todo)];
}

function durability(report: Reporter, { fsync, synchronousCommit }: ServerFacts): Finding[] {
  const off = [...(fsync === 'off' ? ['fsync'] : []), ...(synchronousCommit === 'off' ? ['synchronous_commit'] : [])];
  if (off.length === 0) return [];
  const todo = 'what was recorded last may be lost when the server crashes; switch it on';
  return [report.warning(`${off.join(' and ')} ${off.length > 1 ? 'are' : 'is'} off`, todo)];
}

/** Whether a failover may lose commits, as a fact: the operator chooses. */
function replication(report: Reporter, { standbys, waitsForStandbys }: ServerFacts): Finding[] {
  if (waitsForStandbys) return [report.ok('commits wait for a standby: a failover loses none')];
  if (standbys === 0) return [];
  return [report.ok('no commit waits for a standby: a failover may lose the last ones (docs/high-availability.md)')];
}

/** Whether daemons find room: by the limits of server, role and database, and by a trial, which also meets those of a pooler. */
async function connections(
  report: Reporter,
  { connectionLimits, hasSchema }: ServerFacts,
  { sql, url, each }: { sql: Sql; url: string; each: number },
): Promise<Finding> {
  const replicas = Math.max(LEAST_REPLICAS, hasSchema ? (await runningReplicas(sql).catch(() => [])).length : 0);
  const reached = limitReached(report, { connectionLimits }, { replicas, each });
  if (reached !== null) return reached;
  const used = usedOf(connectionLimits);
  const opened = await openAtOnce(url, each);
  if (opened === each) return report.ok(`${used}; ${needsOf(replicas, each)}`);
  const todo = `let the pooler before the server hand out ${replicas * each} (PgBouncer: default_pool_size, max_db_connections, max_client_conn), or lower DATABASE_CONNECTIONS`;
  return report.warning(`${opened} of ${each} sessions could be opened at once; ${used}`, todo);
}

const usedOf = (limits: ServerFacts['connectionLimits']): string =>
  limits.map(({ of, used, most }) => `${used} of ${most} connections of ${of} are in use`).join(', ');

const needsOf = (replicas: number, each: number): string =>
  `${replicas} daemons open up to ${replicas * each} (DATABASE_CONNECTIONS is ${each})`;

/** A limit that these daemons, or one more, do not fit below; null without one. */
function limitReached(
  report: Reporter,
  { connectionLimits }: Pick<ServerFacts, 'connectionLimits'>,
  { replicas, each }: { replicas: number; each: number },
): Finding | null {
  const tight = connectionLimits.find(({ most }) => most < replicas * each);
  if (tight !== undefined) {
    const fits = Math.floor(tight.most / replicas);
    const lower = fits < CONNECTIONS.least ? '' : `set DATABASE_CONNECTIONS to ${fits} or less, or `;
    return report.warning(`${usedOf(connectionLimits)}; ${needsOf(replicas, each)}`, `${lower}raise the limit of ${tight.of}`);
  }
  const full = connectionLimits.find(({ most, used }) => most - used < each);
  if (full === undefined) return null;
  const found = `${usedOf(connectionLimits)}; one more daemon opens up to ${each}`;
  return report.warning(found, `raise the limit of ${full.of}, or close other clients`);
}

/** Opens `count` sessions at once; answers how many had a transaction open within three seconds. */
async function openAtOnce(url: string, count: number): Promise<number> {
  const pool = connect(url, { max: count, name: 'doctor', prepared: false });
  const all = Promise.withResolvers<void>();
  let open = 0;
  const over = startTimer(all.resolve, OPEN_WITHIN);
  const sessions = Array.from({ length: count }, () =>
    pool.begin(async (tx) => {
      await tx`select 1`;
      open++;
      if (open === count) all.resolve();
      await all.promise;
    }),
  );
  for (const session of sessions) session.catch(() => undefined);
  await all.promise;
  clearTimeout(over);
  // Sessions that end now make room for others behind a pooler.
  const atOnce = open;
  await pool.end({ timeout: 1 });
  return atOnce;
}

function notificationQueue(report: Reporter, facts: ServerFacts): Finding[] {
  const trouble = queueTrouble(facts.notificationQueue);
  return trouble === null ? [] : [report.warning(trouble.found, trouble.advice)];
}

/** A pooler in transaction mode takes LISTEN and never passes a notification on. */
async function notifications(report: Reporter, sql: Sql, url: string): Promise<Finding> {
  const channel = `purchase_watch_doctor_${randomBytes(4).toString('hex')}`;
  const arrived = Promise.withResolvers<true>();
  const session = openSession(url, 'doctor', (name) => {
    if (name === channel) arrived.resolve(true);
  });
  const over = new AbortController();
  try {
    await session.sql`listen ${session.sql(channel)}`;
    await sql`select pg_notify(${channel}, '')`;
    const silence = delay(ARRIVES_WITHIN, false as const, { signal: over.signal }).catch(() => false as const);
    if (await Promise.race([arrived.promise, silence])) return report.ok('notifications arrive');
    const todo =
      'set DATABASE_LISTEN_URL to the address of the database server itself, or let the pooler be in session mode; without them changes are noticed a second later, and behind a pooler that was not recognized 5 s later';
    return report.warning('notifications do not arrive', todo);
  } finally {
    over.abort();
    await session.sql.end({ timeout: 1 });
  }
}
