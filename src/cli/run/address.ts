/** Where people open the console, by the settings of this process. */
import { hashOfKey } from '../../config/api-keys.ts';
import type { Settings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import { machineKeyIfAny } from '../../runtime/secrets/kept-key.ts';
import { linkTo } from '../../runtime/secrets/one-time-links.ts';

/** The console's address, which ends with a slash. Throws AppError where the settings do not say it. */
export function addressOf({ consoleUrl, host, port }: Settings): string {
  if (consoleUrl !== null) return `${consoleUrl}/`;
  if (port === 0) throw new AppError('invalid', 'PORT is 0: the daemon took a free port, which its log names in api.listening');
  // Listening on every address of the machine includes these; the name localhost may lead to the other one, where another program listens.
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}/`;
}

/** An http address with 127.0.0.1 in place of the name localhost, which may lead to another program's `::1`; other addresses stay. */
export function withoutLocalhost(address: string): string {
  return address.replace(/^http:\/\/localhost(?=[:/]|$)/i, 'http://127.0.0.1');
}

/** The address with a one-time link, where no key is set and DATA_DIR keeps the machine's own; null otherwise. Throws AppError when it cannot be read. */
export function linkOf({ apiKeys, dataDir }: Settings, address: string): string | null {
  const key = apiKeys.length > 0 ? null : machineKeyIfAny(dataDir);
  return key === null ? null : linkTo(withoutLocalhost(address), hashOfKey(key));
}
