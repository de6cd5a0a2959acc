/** Where people open the console and programs ask the API, by the settings of this process, and with which key. */
import { InvalidArgumentError } from 'commander';
import { hashOfKey } from '../../config/api-keys.ts';
import type { Settings } from '../../config/settings.ts';
import { environmentOf } from '../../config/sources/environment.ts';
import { AppError } from '../../domain/values/errors.ts';
import { machineKeyIfAny } from '../../runtime/secrets/kept-key.ts';
import { linkTo } from '../../runtime/secrets/one-time-links.ts';
import type { CliContext } from '../terminal/context.ts';

/** The console's address, which ends with a slash. Throws AppError where the settings do not say it. */
export function addressOf({ consoleUrl, host, port }: Pick<Settings, 'consoleUrl' | 'host' | 'port'>): string {
  if (consoleUrl !== null) return `${consoleUrl}/`;
  if (port === 0) throw new AppError('invalid', 'PORT is 0: the daemon took a free port, which its log names in api.listening');
  // Listening on every address of the machine includes these; the name localhost may lead to the other one, where another program listens.
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/`;
}

/** An http address with 127.0.0.1 in place of the name localhost, which may lead to another program's `::1`; other addresses stay. */
function withoutLocalhost(address: string): string {
  return address.replace(/^http:\/\/localhost(?=[:/]|$)/i, 'http://127.0.0.1');
}

/** The address with a one-time link, where no key is set and DATA_DIR keeps the machine's own; null otherwise. Throws AppError when it cannot be read. */
export function linkOf({ apiKeys, dataDir }: Settings, address: string): string | null {
  const key = apiKeys.length > 0 ? null : machineKeyIfAny(dataDir);
  return key === null ? null : linkTo(withoutLocalhost(address), hashOfKey(key));
}

/** The address of a daemon's API. */
export function apiAddressArgument(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new InvalidArgumentError("Expected the address of a daemon's API, such as http://127.0.0.1:8080.");
  return withoutLocalhost(text);
}

/** The address of the API by HOST and PORT. Throws AppError when these are wrong. */
export function ownApi({ env }: CliContext): string {
  const problems: string[] = [];
  const environment = environmentOf(env);
  const [host, port] = [environment.read('HOST', problems), environment.read('PORT', problems)];
  if (problems.length > 0) throw new AppError('configuration', problems.join('\n'));
  return withoutLocalhost(addressOf({ consoleUrl: null, host, port }));
}

/** A host that is this machine without being looked up. */
const LOOPBACK_ADDRESS = /^(?:127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Reads the key for a daemon's API: the first one of the variables that is set, or the machine's own in DATA_DIR, which the daemon
 * may make later and no other machine gets. Throws AppError when a file cannot be read.
 */
export function apiKeyIn(
  { env }: CliContext,
  daemonUrl: string,
  names: readonly ('API_KEY' | 'API_READ_KEY')[],
): () => string | undefined {
  const problems: string[] = [];
  const environment = environmentOf(env);
  const [key] = names.flatMap((name) => environment.lookUp(name, problems) ?? []);
  const dataDir = environment.read('DATA_DIR', problems);
  if (problems.length > 0) throw new AppError('configuration', problems.join('\n'));
  if (key !== undefined || !LOOPBACK_ADDRESS.test(new URL(daemonUrl).hostname)) return () => key?.trim().split(/[\s,]+/)[0];
  return () => machineKeyIfAny(dataDir) ?? undefined;
}
