/** `start`: the daemon, until a signal stops it. */

import { resolve } from 'node:path';
import { describeTarget } from '../../actions/setup/connect.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import { readSubscribers, type StoredSubscriber } from '../../actions/subscribers/subscribers.ts';
import { openFront } from '../../api/access/front.ts';
import { type App, createApp } from '../../app.ts';
import { refusedUrl } from '../../channels/http/address.ts';
import { unencryptedStored } from '../../channels/outgoing/sealed.ts';
import { ENDING_KEY_ADVICE, endingKeys } from '../../config/api-keys.ts';
import { sitesWithoutChannel } from '../../config/channels.ts';
import { ODD_CREDENTIAL_ADVICE, oddCredentials } from '../../config/kinds/credential.ts';
import { PEOPLE_KINDS } from '../../config/kinds/people-kinds.ts';
import { loadSettings } from '../../config/load-settings.ts';
import { VARIABLE_NAMES } from '../../config/schema/variables.ts';
import type { Settings } from '../../config/settings.ts';
import { ENCRYPTION_ADVICE, type Unencrypted, unencrypted } from '../../config/unencrypted.ts';
import { AppError } from '../../domain/values/errors.ts';
import { shownAddress } from '../../domain/values/shown-address.ts';
import { createLogger, type Logger } from '../../runtime/logger.ts';
import { createServiceManager } from '../../runtime/process/service-manager.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { delay, monotonic, wall } from '../../runtime/time.ts';
import { declare, type Register } from '../terminal/command.ts';
import { type CliContext, variablesNow } from '../terminal/context.ts';
import { printFacts, printLine, styled } from '../terminal/output.ts';
import { linkOf } from './address.ts';
import { createReloader, type Reloader } from './reload-settings.ts';

const declared = declare(
  {
    description:
      'Runs the daemon: brings the schema up to date, polls, decides, delivers and serves the API. Ctrl-C or SIGTERM ends it after what is under way; a second one at once.',
    options: [['--worker', 'without the API, only /healthz, /readyz and /metrics: for replicas that only poll and deliver']],
    examples: [
      ['start', 'with the settings of the environment; "purchase-watch config" shows them'],
      ['start --worker', 'a further replica on the same DATABASE_URL; on the same machine with another PORT'],
    ],
  },
  (context, { worker }) => start(context, worker),
);

export const register: Register = (command, context) => {
  const { outputError } = command.configureOutput();
  command.configureOutput({
    outputError: (text, write) => {
      const said = withVariable(text);
      outputError!(said, write);
      logRefused(context, new AppError('invalid', said.trim().replace(/^error: /, '')));
    },
  });
  declared(command, context);
};

async function start(context: CliContext, worker: boolean): Promise<void> {
  const settings = settingsOf(context);
  const log = createLogger({ level: settings.logLevel, destination: context.stdout });
  const serviceManager = createServiceManager(context.env, log);
  const aborting = new AbortController();
  let stopBegan = monotonic();
  /** Null until the daemon has started. On a terminal, closing the terminal ends the daemon instead. */
  let reloader: Reloader | null = null;
  const onHangUp = context.isTTY
    ? null
    : () => {
        // A start reads the settings as they are.
        if (reloader === null) return;
        serviceManager.reloading();
        void reloader.reload('SIGHUP').then(serviceManager.ready);
      };
  const stop = untilStopSignal(context.takeSignals, onHangUp).then((signal) => {
    stopBegan = monotonic();
    log.info({ signal }, 'stopping');
    serviceManager.stopping();
    aborting.abort();
  });
  const run = async (): Promise<boolean> => {
    // Before anything takes time: an orchestrator sees that the process lives, and people what it does.
    const front = await openFront(settings, log);
    const starting = createApp(settings, { log, worker, front, signal: aborting.signal });
    const app = await starting.catch(async (error: unknown) => {
      await front.close();
      throw error;
    });
    try {
      await app.start();
      const stored = await readSubscribers(app.sql);
      const summary = await summaryOf(settings, { app, stored, worker });
      // A log collector must find nothing but log lines.
      if (context.isTTY) printSummary(context, { ...summary, console: worker ? null : consoleOf(settings, app.url()) });
      log.info(context.isTTY ? {} : summary, 'started');
      serviceManager.ready();
      serviceManager.watch(app.hanging);
      // Asks the database for nothing: from here on it may fail or hang, and a stop must not wait for it.
      await warn(settings, stored, log);
      reloader = createReloader(app, settings, { env: () => variablesNow(context), log });
      await stop;
      reloader.stop();
      return await app.stop();
    } finally {
      await app.stop();
    }
  };
  const running = run().catch((error: unknown) => {
    // A start that a stop breaks off has nothing to end.
    if (!aborting.signal.aborted) {
      if (!context.isTTY) log.error({ error }, 'start.failed');
      throw error;
    }
    log.info({ error }, 'start.broken_off');
    return true;
  });
  // The stop ends a little before; a start that hangs does not.
  const late = stop.then(() => delay(settings.shutdownTimeout, false));
  if (await Promise.race([running, late])) return log.info({}, 'stopped');
  const afterMs = Math.round(monotonic() - stopBegan);
  const advice =
    'the process ends now; shards that it could not release are taken by other replicas when its lease ends, and what was under way is done again';
  log.error({ afterMs, advice }, 'stop.broken_off');
  const parts = 'the log says what failed (stop.failed) or hung (stop.cut_short)';
  throw new AppError('unavailable', `the stop ended after ${afterMs} ms and did not hand everything over: ${parts}; ${advice}`);
}

function settingsOf(context: CliContext): Settings {
  try {
    return loadSettings(context.env, { requireSite: true });
  } catch (error) {
    logRefused(context, error);
    throw error;
  }
}

/** Logs what keeps a start from the log of its settings; a terminal shows it in words. */
function logRefused(context: CliContext, error: unknown): void {
  if (!context.isTTY) createLogger({ level: 'error', destination: context.stdout }).error({ error }, 'start.failed');
}

/** Logs once which incidents no channel gets, what is sent without encryption, which receivers are refused, and which keys end. */
async function warn(settings: Settings, stored: readonly StoredSubscriber[], log: Logger): Promise<void> {
  const { channels, subscribers, webhooks } = settings;
  const { silentSites, criticalOnly } = sitesWithoutChannel(settings);
  for (const site of silentSites)
    log.warn({ site, advice: 'add it to the sites of a channel: none gets its incidents' }, 'incidents.not_alerted');
  for (const site of criticalOnly)
    log.warn(
      { site, severity: 'warning', advice: 'add it to a channel without severity: critical: no channel gets its warnings' },
      'incidents.not_alerted',
    );
  if (channels.length === 0)
    log.warn({ advice: 'set SLACK_WEBHOOK_URL: without it people are not alerted of incidents' }, 'incidents.not_alerted');
  for (const { name: key, detail } of endingKeys(settings.apiKeys, wall()))
    log.warn({ key, detail, advice: ENDING_KEY_ADVICE }, 'api.key_expires');
  for (const each of oddCredentials(settings.sites)) log.warn({ ...each, advice: ODD_CREDENTIAL_ADVICE }, 'site.credential_odd');
  for (const each of await withoutEncryption(settings, stored))
    log.warn({ ...each, advice: ENCRYPTION_ADVICE }, 'address.unencrypted');
  for (const { name: subscriber, kind, url } of subscribers) {
    // Brokers live in private networks; no rule about public addresses is for them.
    const refused = kind === 'webhook' ? refusedUrl(url, webhooks.allowAddresses) : null;
    if (refused === null) continue;
    log.warn(
      { subscriber, detail: refused.problem, advice: `if it is meant, set ${refused.allowing}` },
      'subscriber.address_refused',
    );
  }
}

async function withoutEncryption(settings: Settings, stored: readonly StoredSubscriber[]): Promise<Unencrypted[]> {
  return [...unencrypted(settings), ...unencryptedStored(secretsOf(settings), stored)];
}

/** Subscribers added by API and commands that the summary names; their addresses are stored encrypted, and not shown here. */
const MOST_NAMED = 20;

/** The summary for the person who starts the daemon: sites, place of the data, receivers of events and alerts. No secrets. */
async function summaryOf(
  settings: Settings,
  { app: { url }, stored, worker }: { app: Pick<App, 'url'>; stored: readonly StoredSubscriber[]; worker: boolean },
) {
  const added = stored.filter(({ origin, status }) => origin === 'api' && status === 'active');
  const { databaseUrl, dataDir, subscribers, channels } = settings;
  return {
    sites: settings.sites.map(({ name, baseUrl }) => `${name} (${shownAddress(baseUrl)})`),
    database:
      databaseUrl === null ? `embedded Postgres, data in ${resolve(dataDir)}` : `Postgres at ${describeTarget(databaseUrl)}`,
    api: worker ? `none (--worker); health and metrics at ${url()}` : url(),
    receivers: [
      ...subscribers.map((each) => `${each.name} (${shownAddress(each.url)})`),
      ...added.slice(0, MOST_NAMED).map(({ name }) => `${name} (added)`),
      ...(added.length > MOST_NAMED ? [`${added.length - MOST_NAMED} more that were added`] : []),
      ...channels.map(({ kind, name }) =>
        name === 'default' ? PEOPLE_KINDS[kind].title : `${PEOPLE_KINDS[kind].title} (${name})`,
      ),
    ],
  };
}

/** A terminal is a person's: where no key is set, the address there is a link that signs a browser in. */
function consoleOf(settings: Settings, url: string | null): string {
  const address = `${settings.consoleUrl ?? url}/`;
  return linkOf(settings, address) ?? address;
}

function printSummary(
  context: CliContext,
  { sites, database, api, console, receivers }: Awaited<ReturnType<typeof summaryOf>> & { readonly console: string | null },
): void {
  printFacts(context, [
    [sites.length === 1 ? 'site' : 'sites', sites.join(', ')],
    ['database', database],
    ['API', api ?? ''],
    ['console', console],
    [
      'receivers',
      receivers.length === 0 ? 'none: set WEBHOOK_URL and WEBHOOK_SECRET, or SLACK_WEBHOOK_URL' : receivers.join(', '),
    ],
  ]);
  printLine(context, styled(context, 'gray', 'Register purchases with "purchase-watch watch <id>". Ctrl-C ends the daemon.'));
  printLine(context);
}

/** An error about an option that is a setting names its variable, too. */
function withVariable(error: string): string {
  return error.replace(/unknown option '--([a-z-]+)[^']*'(?:\n\(.*\))?/, (said, option: string) => {
    const variable = VARIABLE_NAMES.find((name) => name === option.toUpperCase().replaceAll('-', '_'));
    return variable === undefined ? said : `unknown option '--${option}'\n(It is a setting: set ${variable})`;
  });
}
