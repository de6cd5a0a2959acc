/** Parameters of connections from variables and files, as libpq reads them, where the address of a database leaves them out. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unreadFile } from '../../domain/values/errors.ts';
import { readPlainFile } from './plain-file.ts';

/** Parameters of a connection by the variable that gives them. */
const PARAMETERS = {
  PGHOST: 'host',
  PGPORT: 'port',
  PGUSER: 'user',
  PGDATABASE: 'dbname',
  PGPASSWORD: 'password',
  PGPASSFILE: 'passfile',
  PGOPTIONS: 'options',
  PGCONNECT_TIMEOUT: 'connect_timeout',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
  PGSSLMODE: 'sslmode',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
} as const;

/** Values by which libpq refuses some connections, and which are not obeyed here: silence about them would be a false comfort. */
const NOT_OBEYED = {
  PGSSLCRL: /./,
  PGSSLCRLDIR: /./,
  PGREQUIREAUTH: /./,
  PGREQUIREPEER: /./,
  PGSSLPASSWORD: /./,
  PGGSSENCMODE: /^require$/,
  PGCHANNELBINDING: /^require$/,
  PGSSLMINPROTOCOLVERSION: /^TLSv1\.3$/,
};

/**
 * The address with what it leaves out, by the rules of libpq: its own parameters win over those of the service that it or
 * PGSERVICE names, and these over variables. `files` are those of DATABASE_PASSWORD and DATABASE_URL, which are read again for
 * each connection; a password of its own is `password`.
 */
export function completedUrl(
  url: string,
  env: NodeJS.ProcessEnv,
  { password, passwordFile, urlFile }: { password: string | null; passwordFile: string | null; urlFile: string | null },
  problems: string[],
): string {
  const [, authority = '', path = '', search = ''] = /^[^:]*:\/\/([^/?#]*)(\/[^?#]*)?(\?[^#]*)?$/.exec(url) ?? [];
  const own = new URLSearchParams(search);
  const at = authority.lastIndexOf('@');
  const login = authority.slice(0, Math.max(at, 0));
  const isGiven = (name: string): boolean =>
    own.has(name) ||
    (name === 'host' && authority.slice(at + 1) !== '') ||
    (name === 'port' && /:\d+$/.test(authority.slice(at + 1))) ||
    (name === 'user' && login.split(':')[0] !== '') ||
    (name === 'password' && login.includes(':')) ||
    (name === 'dbname' && path.length > 1);
  if (password !== null && isGiven('password'))
    problems.push('DATABASE_PASSWORD: DATABASE_URL has a password, too; keep one of them');
  for (const [name, demand] of Object.entries(NOT_OBEYED)) {
    if (demand.test(env[name] ?? ''))
      problems.push(`${name}: is not obeyed here; take it away, and let the server demand what it stands for`);
  }
  const service = own.get('service') ?? env.PGSERVICE ?? '';
  const named = service === '' ? {} : serviceParameters(service, own.get('servicefile'), env, problems);
  const fromVariables = Object.fromEntries(Object.entries(PARAMETERS).map(([name, parameter]) => [parameter, env[name] ?? '']));
  const all = { ...fromVariables, ...named };
  const added = Object.entries(all).filter(([name, value]) => value !== '' && !isGiven(name));
  if (password !== null) added.push(['password', password]);
  if (passwordFile !== null) added.push(['passwordfile', passwordFile]);
  if (urlFile !== null) added.push(['urlfile', urlFile]);
  const hasPassword = isGiven('password') || added.some(([name]) => /^password/.test(name));
  const passfile = join(env.HOME ?? '/', '.pgpass');
  if (!hasPassword && !isGiven('passfile') && all.passfile === undefined && existsSync(passfile))
    added.push(['passfile', passfile]);
  if (added.length === 0) return url;
  return `${url}${search === '' ? '?' : '&'}${new URLSearchParams(added)}`;
}

/** The parameters of a service: of the file of the user, or of the one of the machine. */
function serviceParameters(
  service: string,
  given: string | null,
  env: NodeJS.ProcessEnv,
  problems: string[],
): Readonly<Record<string, string>> {
  const ofUser = given ?? env.PGSERVICEFILE ?? join(env.HOME ?? '/', '.pg_service.conf');
  const files = [ofUser, ...(env.PGSYSCONFDIR === undefined ? [] : [join(env.PGSYSCONFDIR, 'pg_service.conf')])];
  for (const file of files) {
    try {
      const found = sectionOf(readPlainFile(file), service);
      if (found !== null) return found;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOENT') problems.push(`PGSERVICE: ${unreadFile(file, error)}`);
    }
  }
  problems.push(`PGSERVICE: there is no service ${JSON.stringify(service)} in ${files.join(' nor in ')}`);
  return {};
}

function sectionOf(text: string, name: string): Record<string, string> | null {
  let found: Record<string, string> | null = null;
  let isInside = false;
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line.startsWith('#') || line === '') continue;
    const section = /^\[(.*)\]$/.exec(line)?.[1];
    if (section !== undefined) isInside = section === name;
    const [, key, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(line) ?? [];
    if (isInside) found ??= {};
    if (isInside && found !== null && key !== undefined) found[key] = value!;
  }
  return found;
}
