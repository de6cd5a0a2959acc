/** The logins of the embedded Postgres: the superuser's, for the set-up, and the daemon's, with the rights that the daemon needs. */

import { createHmac } from 'node:crypto';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay } from '../../runtime/time.ts';
import { connect, type Queries } from '../connection/database.ts';

/** The superuser, the first role of the cluster. Only the set-up below, and people, log in as superuser. */
export const SUPERUSER = 'purchase_watch';
const DAEMON = 'purchase_watch_daemon';
/** SQLSTATE of a login with a wrong password, or as a role that does not exist. */
export const WRONG_PASSWORD = '28P01';
const TRIES = 4;
const TRY_AGAIN: Milliseconds = 150;

/** Where to log in. */
export interface LoginPlace {
  /** The folder of the socket, or a host. */
  readonly host: string;
  readonly port: number;
}

/** The address of the database for a login, as connection strings name it. */
function addressOf({ host, port }: LoginPlace, user: string, password: string): string {
  const parameters = new URLSearchParams({ host, ...(port === 5_432 ? {} : { port: String(port) }), sslmode: 'disable' });
  return `postgres://${user}:${password}@localhost/postgres?${parameters}`;
}

/** The superuser's address; the superuser's password is kept beside the data. */
export function superuserUrl(place: LoginPlace, password: string): string {
  return addressOf(place, SUPERUSER, password);
}

/** The daemon's address. The daemon's password is derived from the superuser's, which every process that may use the server can read. */
export function daemonUrl(place: LoginPlace, password: string): string {
  return addressOf(place, DAEMON, daemonPassword(password));
}

function daemonPassword(password: string): string {
  return createHmac('sha256', password).update(DAEMON).digest('base64url');
}

/** Makes the daemon's role. May be repeated, and run by several processes at once. */
export async function setUpDaemonRole(place: LoginPlace, password: string): Promise<void> {
  const sql = connect(superuserUrl(place, password), { max: 1, name: 'embedded' });
  try {
    for (let left = TRIES - 1; ; left--) {
      try {
        return await sql.begin((tx) => setUp(tx, daemonPassword(password)));
      } catch (error) {
        // Of two processes that set up the role at once one fails, and then finds the role set up.
        if (left === 0 || (error as { code?: string }).code === WRONG_PASSWORD) throw error;
        await delay(TRY_AGAIN);
      }
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function setUp(tx: Queries, password: string): Promise<void> {
  // The superuser makes these roles, so that the daemon needs no right to make roles.
  for (const group of ['purchase_watch_registrar', 'purchase_watch_reader']) {
    const [found] = await tx`select from pg_roles where rolname = ${group}`;
    if (found === undefined) await tx`create role ${tx(group)} nologin`;
  }
  const [found] = await tx`select from pg_roles where rolname = ${DAEMON}`;
  if (found === undefined) await tx`create role ${tx(DAEMON)} login`;
  await tx.unsafe(`alter role ${DAEMON} password '${password}'`);
  await tx`grant create on database postgres to ${tx(DAEMON)}`;
}
