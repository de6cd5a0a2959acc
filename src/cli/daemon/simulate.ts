/** `simulate`: the checkout service of the specification as a stand-in server. */

import { randomInt } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { AppError } from '../../domain/values/errors.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { SimulatorError } from '../../simulator/contract/error.ts';
import type { Site } from '../../simulator/contract/purchases.ts';
import { settleSite } from '../../simulator/options.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.ts';
import { examples, numberArgument } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { printFacts, printJson, printLine } from '../terminal/output.ts';

interface SimulateOptions {
  readonly port: number;
  readonly host: string;
  readonly load: number;
  readonly timeScale: number;
  readonly seed?: number;
  readonly auth: 'oauth2' | 'basic' | 'both';
  readonly site?: readonly Site[];
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly json?: true;
}

async function simulate(context: CliContext, { json, site, ...options }: SimulateOptions): Promise<void> {
  const { port, host, load, timeScale } = options;
  // A database that is kept remembers the ids of earlier runs.
  const seed = options.seed ?? randomInt(2 ** 31);
  const stop = untilStopSignal(context.takeSignals);
  const simulator = built({ ...options, sites: site, seed });
  await simulator.start().catch((cause: unknown) => {
    const { code } = cause as { code?: string };
    const why =
      code === 'EADDRINUSE' ? `port ${port} is in use; choose another one with --port, or 0 for any that is free` : String(code);
    throw new AppError('conflict', `cannot listen on ${host}, port ${port}: ${why}`, { cause });
  });
  const { url, clientId, clientSecret } = simulator;
  const environment = {
    CHECKOUT_BASE_URL: url,
    CHECKOUT_CLIENT_ID: clientId,
    CHECKOUT_CLIENT_SECRET: clientSecret,
    ...(options.auth === 'basic' ? { CHECKOUT_AUTH: 'basic' } : {}),
  };
  if (json) printJson(context, { url, controlPage: `${url}/control`, seed, environment });
  else {
    printFacts(context, [
      ['checkout service', url],
      ['control page', `${url}/control`],
      ['new purchases', load === 0 ? 'none by itself: add some on the control page, or start with --load' : `${load} a minute`],
      ['time', timeScale === 1 ? 'as in life' : `${timeScale} times as fast as in life`],
      ['seed', String(seed)],
    ]);
    printLine(context, '\nFor a daemon that watches it:');
    for (const [name, value] of Object.entries(environment)) printLine(context, `  export ${name}=${value}`);
    printLine(context, `\nPurchase IDs: curl -s ${url}/control/recent | jq -r ".purchases[].purchaseId"`);
    printLine(context, 'Ctrl-C ends it.');
  }
  await stop;
  await simulator.stop();
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

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Runs a stand-in for the checkout service, complete as its specification has it, with a page and an API to disturb it: break a page, let calls fail, set a state.',
    )
    .addOption(new Option('--port <port>', 'where it listens; 0 takes a free port').argParser(portArgument).default(8090))
    .option('--host <address>', 'on which address; anybody who reaches it can control it', '127.0.0.1')
    .addOption(new Option('--load <count>', 'new purchases a minute').argParser(numberArgument).default(0))
    .addOption(
      new Option('--time-scale <factor>', 'how much faster than life; at 60 a minute is a second')
        .argParser(scaleArgument)
        .default(1),
    )
    .option('--seed <number>', 'the same seed makes the same purchases; a new one each time by default', seedArgument)
    .addOption(new Option('--auth <kind>', 'what it accepts').choices(['oauth2', 'basic', 'both']).default('both'))
    .option(
      '--site <site>',
      'a merchant account as code:currency:country[:zone], instead of demo-se:SEK:SWE and demo-fi:EUR:FIN; repeat it for more',
      siteArgument,
    )
    .option('--client-id <id>', 'the client id that it knows; demo-client unless given')
    .option('--client-secret <secret>', 'its secret; demo-secret unless given')
    .option('--json', 'write its address and settings as JSON')
    .action((options: SimulateOptions) => simulate(context, options));
  examples(command, [
    ['simulate', 'nothing happens until you say so'],
    ['simulate --load 30 --time-scale 20', 'lively traffic'],
    ['simulate --site my-shop:NOK:NOR:Europe/Oslo', 'with a site of your own'],
    ['simulate --port 0 --json', 'for scripts'],
  ]);
}
