/** `simulate`: the checkout service of the specification as a stand-in server. */

import { InvalidArgumentError } from 'commander';
import { SimulatorError } from '../../../packages/simulator/src/contract/error.ts';
import type { Site } from '../../../packages/simulator/src/contract/purchases.ts';
import { settleSite } from '../../../packages/simulator/src/options.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../packages/simulator/src/simulator.ts';
import { shellWord } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { randomInt } from '../../runtime/random.ts';
import { numberArgument, several } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { printable, printFacts, printJson, printLine, toStandardError } from '../terminal/output.ts';
import { apiAddressArgument, apiKeyIn } from './address.ts';
import { FAST, refuseForeign, writeFastSettings } from './fast-settings.ts';
import { createRegistrar } from './registrar.ts';

export const register = declare(
  {
    description:
      'Runs a stand-in for the checkout service, complete as its specification has it, with a page and an API to disturb it: break a page, let calls fail, set a state.',
    options: [
      ['--port <port>', 'where it listens; 0 takes a free port', { read: portArgument, usual: 8090 }],
      ['--host <address>', 'on which address; anybody who reaches it can control it', { usual: '127.0.0.1' }],
      [
        '--allow-host <name>',
        'a name with a dot under which programs call it; calls by other such names are refused; repeat it for more',
        { read: several },
      ],
      ['--load <count>', 'new purchases a minute; 0 unless given, 30 with --fast', { read: numberArgument }],
      [
        '--time-scale <factor>',
        'how much faster than life; at 60 a minute is a second; 1 unless given, 25 with --fast',
        { read: scaleArgument },
      ],
      ['--seed <number>', 'the same seed makes the same purchases; a new one each time by default', { read: seedArgument }],
      ['--auth <kind>', 'what it accepts', { choices: ['oauth2', 'basic', 'both'], usual: 'both' }],
      [
        '--site <site>',
        'a merchant account as code:currency:country[:zone], instead of demo-se:SEK:SWE and demo-fi:EUR:FIN; repeat it for more',
        { read: siteArgument },
      ],
      ['--client-id <id>', 'the client id that it knows; demo-client unless given'],
      ['--client-secret <secret>', 'its secret; demo-secret unless given', { isSecret: () => false }],
      [
        '--register <url>',
        'register each new purchase at the daemon whose API is there, with API_KEY (or the file of API_KEY_FILE); without either, with the key of this machine in DATA_DIR, which only 127.0.0.1 and [::1] get; http://localhost is taken as http://127.0.0.1',
        { read: apiAddressArgument },
      ],
      [
        '--fast <file>',
        'short lives, 30 new customers a minute, and settings for a daemon that finds one stuck within a minute, written to this file',
      ],
      ['--json', 'write its address and settings as JSON'],
    ],
    examples: [
      ['simulate', 'nothing happens until you say so'],
      ['simulate --load 30 --time-scale 20', 'lively traffic'],
      ['simulate --site my-shop:NOK:NOR:Europe/Oslo', 'with a site of your own'],
      ['simulate --fast fast.yaml --register http://127.0.0.1:8080', 'with PURCHASE_WATCH_CONFIG=fast.yaml for the daemon'],
      ['simulate --port 0 --json', 'for scripts'],
    ],
  },
  async (context, { json, ...options }) => {
    const { port, host, allowHost: allowHosts, auth, site: sites, clientId, clientSecret, register: daemonUrl, fast } = options;
    const pace = fast === undefined ? { load: 0, timeScale: 1 } : FAST;
    const { load = pace.load, timeScale = pace.timeScale } = options;
    if (fast !== undefined) refuseForeign(fast);
    // A database that is kept remembers the ids of earlier runs.
    const seed = options.seed ?? randomInt(2 ** 31);
    const apiKey = daemonUrl === undefined ? () => undefined : apiKeyIn(context, daemonUrl, ['API_KEY']);
    const stop = untilStopSignal(context.takeSignals);
    const simulator = built({ port, host, allowHosts, auth, sites, clientId, clientSecret, load, timeScale, seed });
    const write = (line: string) => printLine(toStandardError(context), printable(line));
    const registrar = daemonUrl === undefined ? null : createRegistrar({ control: simulator.control, daemonUrl, apiKey, write });
    await simulator.start().catch((cause: unknown) => {
      const { code } = cause as { code?: string };
      const why =
        code === 'EADDRINUSE'
          ? `port ${port} is in use; choose another one with --port, or 0 for any that is free`
          : String(code);
      throw new AppError('conflict', `cannot listen on ${host}, port ${port}: ${why}`, { cause });
    });
    try {
      if (fast !== undefined) writeFastSettings(fast, simulator, auth);
      show(context, simulator, { load, timeScale, seed, auth, json, fast, daemonUrl });
      await stop;
    } finally {
      await registrar?.close();
      await simulator.stop();
    }
  },
);

interface Shown {
  readonly load: number;
  readonly timeScale: number;
  readonly seed: number;
  readonly auth: 'oauth2' | 'basic' | 'both';
  readonly json: boolean;
  readonly fast: string | undefined;
  readonly daemonUrl: string | undefined;
}

/** Writes where the simulator is, and what a daemon needs to watch it. */
function show(
  context: CliContext,
  { url, clientId, clientSecret }: Simulator,
  { load, timeScale, seed, auth, json, fast, daemonUrl }: Shown,
): void {
  const environment = {
    CHECKOUT_BASE_URL: url,
    CHECKOUT_CLIENT_ID: clientId,
    CHECKOUT_CLIENT_SECRET: clientSecret,
    ...(auth === 'basic' ? { CHECKOUT_AUTH: 'basic' } : {}),
  };
  if (json) return void printJson(context, { url, controlPage: `${url}/control`, seed, environment, settingsFile: fast ?? null });
  printFacts(context, [
    ['checkout service', url],
    ['control page', `${url}/control`],
    ['controls as OpenAPI', `${url}/control/openapi.json`],
    ['new purchases', load === 0 ? 'none by itself: add some on the control page, or start with --load' : `${load} a minute`],
    ['registered at', daemonUrl ?? null],
    ['time', timeScale === 1 ? 'as in life' : `${timeScale} times as fast as in life`],
    ['seed', String(seed)],
  ]);
  printLine(context, '\nFor a daemon that watches it:');
  if (fast === undefined) {
    for (const [name, value] of Object.entries(environment)) printLine(context, `  export ${name}=${shellWord(value)}`);
  } else printLine(context, `  PURCHASE_WATCH_CONFIG=${shellWord(fast)} purchase-watch start`);
  printLine(context, `\nPurchase IDs: curl -s ${url}/control/recent | jq -r ".purchases[].purchaseId"`);
  printLine(context, 'Ctrl-C ends it.');
}

/** The simulator with these options. Throws AppError for what it refuses. */
function built(options: SimulatorOptions): Simulator {
  try {
    return createSimulator(options);
  } catch (error) {
    if (error instanceof SimulatorError) throw new AppError('invalid', error.message, { cause: error });
    throw error;
  }
}

/** One more site, written `code:currency:country`, with a time zone behind it where that is not Stockholm's. */
function siteArgument(text: string, before: readonly Site[] = []): Site[] {
  const [code, currency, country, ...zone] = text.split(':');
  if (country === undefined)
    throw new InvalidArgumentError('Expected code:currency:country[:zone], such as my-shop:NOK:NOR:Europe/Oslo.');
  try {
    return [...before, settleSite({ code, currency, country, ...(zone.length > 0 && { timeZone: zone.join(':') }) })];
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function portArgument(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError('Expected a port from 0 to 65535.');
  return port;
}

function scaleArgument(text: string): number {
  const scale = numberArgument(text);
  if (scale === 0) throw new InvalidArgumentError('Expected a number greater than 0.');
  return scale;
}

function seedArgument(text: string): number {
  const seed = numberArgument(text);
  if (!Number.isSafeInteger(seed)) throw new InvalidArgumentError('Expected a whole number.');
  return seed;
}
