/** Finds, among several hosts, the host that takes writes: after a failover that is another host than before. */

import postgres from 'postgres';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic, startTimer } from '../../runtime/time.ts';
import type { Host, ParsedUrl } from '../address/database-url.ts';
import { chooseHost, type HostAnswer, type HostChoice, hostName, isSameHost, type Primary } from './choose-host.ts';
import { breakOthers, createSockets } from './watched-socket.ts';

/** The longest that one host may take to answer: connecting and its queries. */
const ASK_WITHIN: Milliseconds = 4_000;
/** How long a host that takes writes waits for the answers of the others, which may have been promoted later. */
const OTHERS_WITHIN: Milliseconds = 1_000;
/** Connections that are dialled together share one search, from its beginning until so long after its end. */
const FRESH: Milliseconds = 1_000;
/** How soon a host that takes no writes is asked again while another one is silent. */
const AGAIN_AFTER: Milliseconds = 500;

export type Hosts = ReturnType<typeof createHosts>;

/** The hosts of each URL: all pools of the process use the same one. */
const known = new Map<string, Hosts>();

/** The hosts of a URL that names several; undefined for a single one. */
export function hostsOf(parsed: ParsedUrl): Hosts | undefined {
  if (parsed.hosts.length < 2) return undefined;
  const hosts = known.get(parsed.given) ?? createHosts(parsed);
  known.set(parsed.given, hosts);
  return hosts;
}

function createHosts(parsed: ParsedUrl) {
  let inUse: Primary | null = null;
  let last: { readonly found: Promise<Host>; freshUntil: Milliseconds } | null = null;

  const conclude = (answers: readonly HostAnswer[]): HostChoice & { readonly primary: Primary } => {
    const { primary, ...others } = chooseHost(answers, inUse);
    if (primary === null) {
      throw Object.assign(new Error(`no host takes writes: ${others.refusals.join('; ')}`), { code: 'NO_PRIMARY' });
    }
    // A cluster that was known once stays known where Postgres no longer reveals it.
    inUse = {
      ...primary,
      system: primary.system ?? inUse?.system ?? null,
      timeline: primary.timeline ?? inUse?.timeline ?? null,
    };
    const text = `the connection is broken and dialled again, because ${hostName(primary.host)} is the primary now`;
    breakOthers(parsed.given, primary.host, Object.assign(new Error(text), { code: 'OTHER_PRIMARY' }));
    return { primary, ...others };
  };

  const search = async (): Promise<Host> => {
    const answers = new Map<Host, HostAnswer>();
    const early = Promise.withResolvers<void>();
    let timer: NodeJS.Timeout | undefined;
    const began = monotonic();
    const isOneSilent = (): boolean => answers.size < parsed.hosts.length && monotonic() - began < ASK_WITHIN;
    const asked = parsed.hosts.map(async (host) => {
      let answer = await ask(parsed, host);
      answers.set(host, answer);
      // While another host is silent, this one may be promoted.
      while ('refusal' in answer && isOneSilent()) {
        await delay(AGAIN_AFTER);
        answer = await ask(parsed, host);
        answers.set(host, answer);
      }
      if ('refusal' in answer) return;
      // The host in use serves as before. Whether another one was promoted is found when all have answered.
      if (inUse !== null && isSameHost(host, inUse.host) && chooseHost([answer], inUse).primary !== null) early.resolve();
      timer ??= startTimer(early.resolve, OTHERS_WITHIN);
    });
    const all = Promise.all(asked).then(() => {
      clearTimeout(timer);
      return conclude([...answers.values()]).primary.host;
    });
    // A failure after an early answer is found again by the next search.
    all.catch(() => undefined);
    return Promise.race([all, early.promise.then(() => conclude([...answers.values()]).primary.host)]);
  };
  return {
    /**
     * The host to dial, by a search that is repeated at most once a second. Connections to another host than the one that is
     * found are broken. Rejects with what each host answered when none serves.
     */
    find: (): Promise<Host> => {
      if (last !== null && monotonic() <= last.freshUntil) return last.found;
      const next = { found: search(), freshUntil: Number.POSITIVE_INFINITY };
      const end = (): void => {
        next.freshUntil = monotonic() + FRESH;
      };
      next.found.then(end, end);
      last = next;
      return next.found;
    },
    /** Asks every host now. Connections to another host than the one that is found are broken. Rejects as `find` does. */
    look: async () => conclude(await Promise.all(parsed.hosts.map((host) => ask(parsed, host)))),
  };
}

/** Asks one host what it is. Never rejects. */
async function ask(parsed: ParsedUrl, host: Host): Promise<HostAnswer> {
  const { dial, close } = createSockets(parsed, { connectWithinSeconds: ASK_WITHIN / 1_000 });
  // The driver's TypeScript types lack the option `socket`.
  const options = {
    ...parsed.options,
    socket: dial,
    host: host.name,
    port: host.port,
    connect_timeout: ASK_WITHIN / 1_000,
    max: 1,
    fetch_types: false,
    prepare: false,
    connection: { application_name: 'purchase-watch probe' },
    onnotice: () => {},
  };
  const sql = postgres(parsed.url, options);
  const over = new AbortController();
  try {
    const silence = delay(ASK_WITHIN, null, { signal: over.signal }).catch(() => null);
    const answer = await Promise.race([askServer(sql), silence]);
    if (answer === null) return { host, refusal: 'no answer in time' };
    if (answer.isReadOnly) return { host, refusal: 'it is read-only: a standby, or a primary that was demoted' };
    return { host, ...answer };
  } catch (error) {
    return { host, refusal: error instanceof Error ? error.message || error.name : String(error) };
  } finally {
    over.abort();
    await sql.end({ timeout: 0 });
    close();
  }
}

async function askServer(sql: postgres.Sql): Promise<Omit<Primary, 'host'> & { isReadOnly: boolean }> {
  const [row] = await sql<[{ isReadOnly: boolean; startedAt: string }]>`
    select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as "isReadOnly",
      extract(epoch from pg_postmaster_start_time())::text as "startedAt"`;
  if (row.isReadOnly) return { ...row, system: null, timeline: null };
  // The names of log files tell the timeline at once; pg_control_checkpoint() tells it after the next checkpoint only.
  const identity = sql<[{ system: string; timeline: string }]>`
    select system_identifier::text as system, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline from pg_control_system()`;
  // Managed services forbid one or the other.
  const [{ system, timeline } = { system: null, timeline: null }] = await identity.catch(() => []);
  return { ...row, system, timeline: timeline === null ? null : Number.parseInt(timeline, 16) };
}
