/** Finds, among several hosts, the host that takes writes: after a failover that is another host than before. */

import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Host, ParsedUrl } from './database-url.ts';
import { createSockets } from './watched-socket.ts';

/** The longest that one host may take to answer: connecting and one query. */
const ASK_WITHIN: Milliseconds = 4_000;
/** Connections that are dialled together share one search. */
const FRESH: Milliseconds = 1_000;

/** A search that is repeated at most once a second. Rejects with what each host answered when none takes writes. */
export function createPrimaryFinder(parsed: ParsedUrl): () => Promise<Host> {
  let last: { readonly found: Promise<Host>; readonly at: Milliseconds } | null = null;
  return () => {
    if (last === null || performance.now() - last.at > FRESH) last = { found: findPrimary(parsed), at: performance.now() };
    return last.found;
  };
}

async function findPrimary(parsed: ParsedUrl): Promise<Host> {
  const refusals: string[] = [];
  const asked = parsed.hosts.map(async (host) => {
    try {
      await askForWrites(parsed, host);
      return host;
    } catch (error) {
      refusals.push(`${host.name}:${host.port} (${error instanceof Error ? error.message || error.name : String(error)})`);
      throw error;
    }
  });
  try {
    return await Promise.any(asked);
  } catch {
    throw Object.assign(new Error(`no host takes writes: ${refusals.join('; ')}`), { code: 'NO_PRIMARY' });
  }
}

async function askForWrites({ url, options }: ParsedUrl, { name, port }: Host): Promise<void> {
  const session = { application_name: 'purchase-watch probe' };
  const { dial } = createSockets(url, { asksForTls: options.ssl !== false });
  const probe = {
    ...options,
    host: name,
    port,
    connect_timeout: ASK_WITHIN / 1_000,
    max: 1,
    fetch_types: false,
    connection: session,
    socket: dial,
  };
  const sql = postgres(url, { ...probe, onnotice: () => {} });
  const over = new AbortController();
  try {
    const answer = sql<[{ closed: boolean }]>`
      select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as closed`;
    const silence = delay(ASK_WITHIN, null, { signal: over.signal }).catch(() => null);
    const rows = await Promise.race([answer, silence]);
    if (rows === null) throw new Error('no answer in time');
    if (rows[0].closed) throw new Error('it is read-only: a standby, or a primary that was demoted');
  } finally {
    over.abort();
    await sql.end({ timeout: 0 });
  }
}
