/** Checks the database: reachable, new enough, durable, with the rights and the schema that the daemon needs, and its clock. */

import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { replicaRemedy } from '../../domain/incidents/replica-trouble.ts';
import { queueTrouble } from '../../domain/replicas/notification-queue.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { hostName, rivalry } from '../../postgres/connection/choose-host.ts';
import { openSession, readClock, type Sql } from '../../postgres/connection/database.ts';
import { describeTarget, parseDatabaseUrl } from '../../postgres/connection/database-url.ts';
import { missingRight } from '../../postgres/connection/missing-right.ts';
import { hostsOf } from '../../postgres/connection/primary.ts';
import { wrongEncoding } from '../../postgres/migrations/encoding.ts';
import { isUsable, schemaDifference, schemaStatus } from '../../postgres/migrations/schema.ts';
import { type ServerFacts, serverFacts } from '../../postgres/reports/inspect.ts';
import { type Finding, offsetInWords, type Reporter, wallClockAt } from '../overview/finding.ts';

const OLDEST_VERSION = 150_000;
/** A daemon uses so many connections at most; another replica should find room, too. */
const HEADROOM = 25;
const MOST_OFFSET: Milliseconds = 1_000;
const ARRIVES_WITHIN: Milliseconds = 3_000;

export async function checkDatabase(
  report: Reporter,
  { sql, url, migrations }: { sql: Sql; url: string; migrations: string },
): Promise<Finding[]> {
  const facts = await serverFacts(sql);
  const wrong = wrongEncoding(facts);
  if (wrong !== null) return [version(report, facts, describeTarget(url)), report.failed(wrong.found, wrong.todo)];
  return [
    version(report, facts, describeTarget(url)),
    ...(await hosts(report, url)),
    ...rights(report, facts),
    await schema(report, { sql, migrations, role: facts.role }),
    ...roles(report, facts),
    ...durability(report, facts),
    connections(report, facts),
    ...notificationQueue(report, facts),
    await notifications(report, sql, url),
    await clock(report, sql),
  ];
}

function version(report: Reporter, { version, versionText, role }: ServerFacts, where: string): Finding {
  const found = `Postgres ${versionText} at ${where}, as role ${role}`;
  if (version >= OLDEST_VERSION) return report.ok(found);
  return report.failed(found, 'version 15 or newer is needed: upgrade Postgres');
}

/** Of several hosts, which one is used and why each of the others is not. */
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
  if (readOnly) {
    return [
      report.failed(`transactions of role ${role} are read-only`, `alter role ${role} set default_transaction_read_only = off`),
    ];
  }
  if (mayCreate) return [];
  const where = hasSchema ? 'in the schemas purchase_watch and purchase_watch_internal' : 'a schema in this database';
  return [
    report.failed(
      `role ${role} may not create ${hasSchema ? `tables ${where}` : where}`,
      'migrate as the owner of the schema, or grant create to this role',
    ),
  ];
}

async function schema(
  report: Reporter,
  { sql, migrations, role }: { sql: Sql; migrations: string; role: string },
): Promise<Finding> {
  try {
    const status = await schemaStatus(sql, migrations);
    if (!isUsable(status)) {
      return report.warning(
        `the schema lacks ${status.pending.map(({ name }) => name).join(', ')}`,
        'run "purchase-watch migrate"; "purchase-watch start" does it too',
      );
    }
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

function connections(report: Reporter, { connections: used, maxConnections }: ServerFacts): Finding {
  const found = `${used} of ${maxConnections} connections in use`;
  if (maxConnections - used >= HEADROOM) return report.ok(found);
  return report.warning(found, `a daemon needs up to ${HEADROOM}: raise max_connections, or close other clients`);
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
      'let DATABASE_URL lead to Postgres itself, or to a pooler in session mode; without them changes are noticed up to 5 s later';
    return report.warning('notifications do not arrive', todo);
  } finally {
    over.abort();
    await session.sql.end({ timeout: 1 });
  }
}

async function clock(report: Reporter, sql: Sql): Promise<Finding> {
  const { now, readAt } = await readClock(sql);
  const offset = wallClockAt(readAt) - now;
  const found = `this machine's clock against the database's: ${offsetInWords(offset)}`;
  if (Math.abs(offset) < MOST_OFFSET) return report.ok(found);
  return report.warning(
    found,
    'due times follow the database and stay right; set both clocks by NTP, for signatures and log lines carry them',
  );
}
