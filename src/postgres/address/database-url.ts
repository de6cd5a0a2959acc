/** The meaning of a database URL: how the connection is encrypted (as libpq reads `sslmode`), and its name for people. */
import { AppError } from '../../domain/values/errors.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import { missingRight } from './missing-right.ts';
import { type PasswordSources, readPassword } from './password.ts';
import { encryptionOf } from './tls-parameters.ts';

/** Parameters that libpq handles itself; a server refuses them as unknown settings, so they must not be passed on. The last two are ours: files that are read again for each connection. */
const CLIENT_SIDE =
  `host port connect_timeout sslmode sslnegotiation sslrootcert sslcert sslkey channel_binding gssencmode krbsrvname sslcompression
  sslsni sslpassword ssl_min_protocol_version target_session_attrs keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout
  load_balance_hosts user password dbname passfile service servicefile passwordfile urlfile`.split(/\s+/);

/** Seconds until a connection that does not come up counts as failed, unless the URL has a `connect_timeout`. */
const CONNECT_TIMEOUT_SECONDS = 10;

/** Sessions that cannot write are of no use here. */
const READ_ONLY_SESSIONS = ['read-only', 'standby', 'prefer-standby'];

export interface Host {
  readonly name: string;
  readonly port: number;
}

/** A URL in the driver's terms. */
export type ParsedUrl = ReturnType<typeof parseDatabaseUrl>;

interface Target {
  readonly hosts: string;
  readonly user: string;
  readonly database: string;
}

/** Reads a `postgres://` URL. Throws an AppError that never repeats the URL, which holds a password. */
export function parseDatabaseUrl(text: string) {
  const { login, given, path, search } = splitUrl(text);
  const query = new URLSearchParams(search);
  refuseReadOnlySessions(query);
  const host = query.get('host');
  const port = query.get('port');
  const timeout = Number(query.get('connect_timeout') ?? CONNECT_TIMEOUT_SECONDS);
  const hosts = hostsOf(host ?? (given || 'localhost'), port ?? '5432');
  const first = hosts[0]!;
  const [name = '', secret] = login.split(/:(.*)/s);
  const user = query.get('user') ?? decodeURIComponent(name);
  const database = query.get('dbname') ?? decodeURIComponent(path.slice(1));
  const sources: PasswordSources = {
    passwordFile: query.get('passwordfile'),
    urlFile: query.get('urlfile'),
    passFile: query.get('passfile'),
    given: query.get('password') ?? decodeURIComponent(secret ?? ''),
  };
  const password = (): string => readPassword(sources, { host: first, user, database: database || user });
  // The driver itself encrypts nothing: its sockets are encrypted before it gets them.
  const options = {
    ssl: false as const,
    connect_timeout: Number.isFinite(timeout) && timeout > 0 ? timeout : CONNECT_TIMEOUT_SECONDS,
    ...(host === null ? {} : { host: first.name }),
    ...(port === null ? {} : { port: first.port }),
    ...(query.has('user') ? { username: user } : {}),
    ...(query.has('dbname') ? { database } : {}),
    // The driver asks for each connection, and a failure here would end the process: the server refuses the empty password.
    password: () => {
      try {
        return password();
      } catch {
        return '';
      }
    },
  };
  const encryption = encryptionOf(query, first.name);
  for (const name of CLIENT_SIDE) query.delete(name);
  const rest = query.size === 0 ? '' : `?${query}`;
  const base = text.slice(0, text.length - search.length);
  const target: Target = { hosts: shownHosts(hosts, port), user, database };
  return {
    given: text,
    encryption,
    /** With the first host only, without the parts that the driver reads otherwise: those are among the options. */
    url: (given.includes(',') ? base.replace(given, given.split(',')[0]!) : base) + rest,
    /** All hosts. The driver does not choose well among several hosts, so primary.ts gives it one at a time. */
    hosts,
    target,
    options,
    /** Throws an AppError when the password cannot be read. */
    checkPassword: () => void password(),
  };
}

/** The parts of a URL, still percent-encoded: `given` is what stands in the place of hosts and ports. */
function splitUrl(text: string): { login: string; given: string; path: string; search: string } {
  const match = /^postgres(?:ql)?:\/\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/.exec(text);
  const [, authority = '', path = '', search = ''] = match ?? [];
  const at = authority.lastIndexOf('@');
  const given = authority.slice(at + 1);
  // An "@" after the authority means that the password holds a bare "/", "?" or "#": what looks like the host is part of it.
  const isDecodable = !/%(?![\da-f]{2})/i.test(text);
  if (match === null || (at < 0 && `${path}${search}`.includes('@')) || !isUrl(text, given) || !isDecodable) {
    throw new AppError(
      'configuration',
      'the database URL is not valid: expected postgres://user:password@host:port/database, with special characters in the password percent-encoded',
    );
  }
  return { login: authority.slice(0, Math.max(at, 0)), given, path, search };
}

function refuseReadOnlySessions(query: URLSearchParams): void {
  const attributes = query.get('target_session_attrs');
  if (attributes === null || !READ_ONLY_SESSIONS.includes(attributes)) return;
  throw new AppError(
    'configuration',
    `the database URL's target_session_attrs is "${attributes}", and purchase-watch writes: use read-write, or leave it out`,
  );
}

/** Hosts for a person; the folder of a Unix socket has no port unless the URL's query names one. */
function shownHosts(hosts: readonly Host[], port: string | null): string {
  const folder = hosts[0]!.name;
  if (folder.startsWith('/')) return port === null ? folder : `${folder}:${port}`;
  return hosts.map(({ name, port }) => `${name.includes(':') ? `[${name}]` : name}:${port}`).join();
}

/** Hosts separated by commas, each with its port; `ports` are for those that have none: one for all, or one for each. */
function hostsOf(names: string, ports: string): Host[] {
  const others = ports.split(',');
  return names.split(',').map((text, index) => {
    // An IPv6 address without brackets has no port.
    if (!text.startsWith('[') && text.split(':').length > 2) return { name: text, port: Number(others[index] ?? others[0]) };
    const [, name = text, port] = /^\[?([^[\]]*?)\]?(?::(\d+))?$/.exec(text) ?? [];
    return { name, port: Number(port ?? others[index] ?? others[0]) };
  });
}

function isUrl(text: string, hosts: string): boolean {
  return URL.canParse(hosts.includes(',') ? text.replace(hosts, hosts.split(',')[0] ?? '') : text);
}

/** Where a URL leads: `db.example:5432/…`, or the folder of a Unix socket. */
export function describeTarget(url: string): string {
  const { hosts, database } = parseDatabaseUrl(url).target;
  if (hosts.startsWith('/')) return hosts;
  return shownAddress(`postgres://${hosts}/${database}`).slice('postgres://'.length);
}

/** Why there is no connection, as one sentence for a person: where, as whom, and what to do. Never holds the password. */
export function describeConnectionError(url: string, error: unknown): string {
  const { target, checkPassword } = parseDatabaseUrl(url);
  const right = missingRight(error, target.user);
  if (right !== null) return `Postgres at ${target.hosts} refuses this: ${right}`;
  const as = target.user === '' ? '' : ` as user ${target.user}`;
  return `cannot reach Postgres at ${target.hosts}${as}: ${passwordTrouble(error, checkPassword) ?? reason(error, target)}`;
}

/** Why the password that was refused could not be read; null when it was read. */
function passwordTrouble(error: unknown, check: () => void): string | null {
  const { code } = Object(error) as { code?: unknown };
  if (code !== '28P01' && code !== '28000') return null;
  try {
    check();
    return null;
  } catch (trouble) {
    return (trouble as Error).message;
  }
}

function reason(error: unknown, target: Target): string {
  const { code = '', message = '' } = error instanceof Error ? (error as Error & { code?: string }) : { message: String(error) };
  switch (code) {
    case 'ECONNREFUSED':
      return 'connection refused; check that the server runs and listens on this address and port';
    case 'ENOENT':
      return 'there is no such socket; check that the server runs';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the host name cannot be resolved; check its spelling and the DNS';
    case 'CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'no answer in time; check the address and the firewalls in between';
    case 'CONNECTION_CLOSED':
    case 'ECONNRESET':
      return 'the server closed the connection; check its log, and whether it offers TLS when sslmode asks for it';
    case '28P01':
      return 'the password is not accepted; mend it, or name its file in DATABASE_PASSWORD_FILE, which is read for each connection';
    case '28000':
      return /no encryption/.test(message)
        ? `the server takes no connection without encryption (${message}): set sslmode=verify-full and sslrootcert in the URL`
        : message;
    case '3D000':
      return `there is no database "${target.database}"; create it first`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `its TLS certificate is for other names (${message.replace(/^.*altnames: /, '')}): let DATABASE_URL name the host as the certificate does, or get a certificate for this name; sslmode=verify-ca checks the authority alone`;
    case 'CERT_HAS_EXPIRED':
      return 'its TLS certificate has expired; renew it at the server';
    case 'NO_PRIMARY':
      return `${message}; one of the hosts must be the primary`;
    case '25006':
      return 'the session is read-only; let DATABASE_URL lead to the primary, or name all hosts: postgres://user@a:5432,b:5432/db';
    case '53300':
      return noConnections(message, target);
    case '57P03':
      return `it does not take connections yet (${message})`;
    default:
      return isCertificateTrouble(code)
        ? `its TLS certificate is not trusted (${code}); name its authority with sslrootcert=/path/root.crt in the URL`
        : message || code || 'unknown error';
  }
}

/** Which limit is reached, by the server's words, and where that one is set. */
function noConnections(message: string, { user, database }: Target): string {
  const limit = /for role/.test(message)
    ? `the limit of the role (alter role ${user} connection limit …)`
    : /for database/.test(message)
      ? `the limit of the database (alter database ${database || user} connection limit …)`
      : 'max_connections there';
  return `it has no free connections (${message}): raise ${limit}, lower DATABASE_CONNECTIONS, or stop other clients`;
}

function isCertificateTrouble(code: string): boolean {
  return code.includes('CERT') || code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
}

/** Without a connection: no server there, no way to it, or no name server. */
const UNREACHED = [
  ['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'CONNECT_TIMEOUT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'],
  ['CONNECTION_CLOSED', 'ECONNRESET', 'EPIPE', 'NO_PRIMARY'],
].flat();

/**
 * Whether what keeps a connection from coming about may pass without a change of settings: the server is away, starts, stops or has
 * no free connection. A pooler says with 08P01 that its server is away, and also that it takes no parameter of a session.
 */
export function mayPass(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (typeof code !== 'string') return false;
  return (
    UNREACHED.includes(code) ||
    /^(?:57P0[123]|53...|0800[0136])$/.test(code) ||
    (code === '08P01' && !/parameter/.test(`${message}`))
  );
}
