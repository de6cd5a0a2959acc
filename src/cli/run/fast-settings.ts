/** `simulate --fast`: lives as short as the demo's, and the settings of a daemon that finds a customer stuck among them. */
import { existsSync, readFileSync } from 'node:fs';
import type { Simulator } from '../../../packages/simulator/src/simulator.ts';
import { SHORT_TIMES_TEXT, writePrivately } from '../../demo/cast/settings.ts';
import { AppError } from '../../domain/values/errors.ts';

/** Steps that take customers minutes take seconds. */
export const FAST = { timeScale: 25, load: 30 } as const;

const FIRST_LINE = '# Settings of a daemon for "purchase-watch simulate --fast", written again at each start of that command.';

/** Throws AppError when the file is there and this command has not written it. */
export function refuseForeign(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8').startsWith(FIRST_LINE)) return;
  throw new AppError('conflict', `--fast: ${file} was not written by this command, and would be lost; name another file`);
}

/** Writes the settings. Throws AppError when it cannot. */
export function writeFastSettings(
  file: string,
  { url, clientId, clientSecret, control }: Simulator,
  accepts: 'oauth2' | 'basic' | 'both',
): void {
  const auth = accepts === 'basic' ? 'basic' : 'oauth2';
  const sites = control.settings().sites.map(({ code, timeZone }) => {
    const site = { baseUrl: url, auth, clientId, clientSecret, timeZone, timeout: '5s' };
    return `  ${JSON.stringify(code)}: ${JSON.stringify(site)}`;
  });
  const text = `${FIRST_LINE}
sites:
${sites.join('\n')}
${SHORT_TIMES_TEXT}webhooks:
  schedule: [1s, 5s, 30s]
  allowAddresses: [127.0.0.0/8]      # for a receiver on this machine
  apiAllowAddresses: [127.0.0.0/8]   # and for one that a command adds
`;
  try {
    writePrivately(file, text);
  } catch (cause) {
    throw new AppError('configuration', `--fast: ${file} cannot be written (${(cause as NodeJS.ErrnoException).code})`, {
      cause,
    });
  }
}
