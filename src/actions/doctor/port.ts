/** Checks that the API can be served: its port is free, or a daemon of this database answers there. */
import { createServer } from 'node:net';
import { request } from 'undici';
import type { Settings } from '../../config/settings.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { isKnownReplica } from '../../postgres/shards/living-replicas.ts';
import { NO_REPLICA_YET, REPLICA_HEADER } from '../../runtime/http/replica-header.ts';
import { timeoutSignal } from '../../runtime/time.ts';
import type { Finding, Reporter } from '../overview/finding.ts';

const ANSWER_WITHIN = 3_000;
/** Any program may answer, and the id is shown. */
const REPLICA = /^\w{1,64}$/;
const ANY = new Set(['0.0.0.0', '::']);

/** `sql`: null where the database was not reached. */
export async function checkPort(
  report: Reporter,
  sql: Sql | null,
  { host, port }: Pick<Settings, 'host' | 'port'>,
): Promise<Finding[]> {
  if (port === 0) return [report.ok('PORT is 0: a free one is taken')];
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const trouble = await listenTrouble(host, port);
  if (trouble === null) return [report.ok(`${where} is free`)];
  if (trouble !== 'EADDRINUSE') return [report.failed(`${where} cannot be listened on (${trouble})`, explained(trouble))];
  const daemon = await askDaemon(ANY.has(host) ? '127.0.0.1' : host, port);
  if (daemon === null)
    return [report.failed(`${where} is answered by another program`, 'choose another PORT, or end that program')];
  const { replica, isReady } = daemon;
  if (replica === NO_REPLICA_YET) return [report.warning(`a daemon is starting at ${where}`, STARTING)];
  if (sql === null) return [report.warning(`a daemon answers at ${where}, and it is not known of which database`, REACH_FIRST)];
  if (!(await isKnownReplica(sql, replica)))
    return [report.failed(`${where} is answered by a daemon of another database (${replica})`, OTHER_DATABASE)];
  if (isReady) return [report.ok(`a daemon of this database answers at ${where} and is ready`)];
  return [report.warning(`a daemon of this database answers at ${where} and is not ready`, SAYS_WHY)];
}

const SAYS_WHY = 'its log says why, and so does its /readyz to a key with the scope read';
const STARTING =
  'wait, and run doctor again: migrations of a large database take minutes, and a daemon names its database once it has started; its log says what it does, and so does its /readyz to a key with the scope read';
const REACH_FIRST = 'mend DATABASE_URL or the server, and run doctor again';
const OTHER_DATABASE = 'choose another PORT, end that daemon, or let DATABASE_URL lead to its database';

function explained(code: string): string {
  if (code === 'EACCES') return 'ports below 1024 need rights of their own: choose a higher PORT';
  return 'HOST must be an address of this machine';
}

/** Why the port cannot be taken, as the system's code, or null. */
function listenTrouble(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** The replica that answers /readyz at this address, and whether it is ready; null when none answers. */
async function askDaemon(host: string, port: number): Promise<{ replica: string; isReady: boolean } | null> {
  const address = `http://${host.includes(':') ? `[${host}]` : host}:${port}/readyz`;
  try {
    const { statusCode, headers, body } = await request(address, { signal: timeoutSignal(ANSWER_WITHIN) });
    body.on('error', () => undefined).destroy();
    const replica = headers[REPLICA_HEADER];
    return typeof replica === 'string' && REPLICA.test(replica) ? { replica, isReady: statusCode === 200 } : null;
  } catch {
    return null;
  }
}
