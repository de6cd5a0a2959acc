/** Runs every check at once, each with a deadline, and answers what was found in a fixed order, as soon as it is known. */

import { unencryptedStored } from '../../channels/outgoing/sealed.ts';
import { peopleKind } from '../../channels/registry.ts';
import { ENDING_KEY_ADVICE, endingKeys } from '../../config/api-keys.ts';
import { channelCeilings, channelSetting, channelTitle, sitesWithoutChannel } from '../../config/channels.ts';
import { ODD_CREDENTIAL_ADVICE, oddCredentials } from '../../config/kinds/credential.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { isOpenToOthers } from '../../config/sources/plain-file.ts';
import { ENCRYPTION_ADVICE, unencrypted } from '../../config/unencrypted.ts';
import { wayToChannel, wayToSite } from '../../config/ways.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { describeConnectionError } from '../../postgres/address/database-url.ts';
import { agreeOnSession } from '../../postgres/connection/agreement.ts';
import { connect, type Sql } from '../../postgres/connection/database.ts';
import { sessionLimitsFor } from '../../postgres/connection/session-limits.ts';
import { startEmbedded } from '../../postgres/embedded/embedded.ts';
import { hasEmbedded } from '../../postgres/embedded/present.ts';
import { isUsable, schemaStatus } from '../../postgres/migrations/schema.ts';
import { newestSeen } from '../../postgres/reports/inspect.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { machineKeyTrouble } from '../../runtime/secrets/kept-key.ts';
import { wall } from '../../runtime/time.ts';
import { checked, type Finding, type Reporter, reporterOf } from '../overview/finding.ts';
import { checkNow } from '../overview/needs.ts';
import { otherSettings } from '../running-replicas.ts';
import { secretsOf } from '../subscribers/secrets.ts';
import { checkDatabase } from './database.ts';
import { checkDeadMansSwitch } from './dead-mans-switch.ts';
import { checkPort } from './port.ts';
import { brokersOf, checkBroker, checkChannel, checkWebhook, restingOf, webhooksOf } from './receivers.ts';
import { checkSecrets } from './secrets.ts';
import { checkSite } from './site.ts';
import { checkTraces } from './traces.ts';
import { checkWays } from './ways.ts';

export interface DoctorOptions {
  /** Where the schema's files are. */
  readonly migrations: string;
  /** Only this site, when given. */
  readonly site: string | null;
  /** Without test events to receivers. */
  readonly quiet: boolean;
  /** With test events also to those that are paused or off. */
  readonly all: boolean;
}

/** The patience of a daemon, too: sessions are asked for with the same settings. */
const DATABASE_WITHIN: Milliseconds = 15_000;
const QUERY_WITHIN: Milliseconds = 3_000;
/** On top of what a call may take by its own deadline. */
const MARGIN: Milliseconds = 3_000;

/** Checks the settings of an environment, and everything that they name. */
export async function* examine({ env, ...options }: DoctorOptions & { env: NodeJS.ProcessEnv }): AsyncGenerator<Finding> {
  const settings = readSettings(env);
  yield* 'sites' in settings ? examineSettings(settings, options) : settings;
}

/** Checks everything that settings name. Throws AppError `invalid` for a site that they do not name. */
async function* examineSettings(settings: Settings, { migrations, site, quiet, all }: DoctorOptions): AsyncGenerator<Finding> {
  const wrong = wrongSite(settings, site);
  if (wrong !== null) throw wrong;
  yield* aboutSettings(settings);
  const { sql, url, findings, close } = await openDatabase(settings);
  yield* findings;
  try {
    // Of a database that is not migrated yet there is nothing to read.
    const data = sql !== null && (await isMigrated(sql, migrations)) ? sql : null;
    const groups: Promise<readonly Finding[]>[] = [];
    const run = (about: string, check: Parameters<typeof checked>[2], within = DATABASE_WITHIN): void =>
      void groups.push(checked(about, within, check));
    if (sql !== null) run('database', (report) => checkDatabase(report, { sql, url, settings, migrations }));
    if (data !== null) {
      run('daemons', (report) => checkNow(report, data, { untested: !quiet && !all }));
      run('daemons', (report) => checkOtherSettings(report, data, settings));
      run('secrets', (report) => checkSecrets(report, data, settings));
    }
    run('api', (report) => checkPort(report, sql, settings));
    const sites = settings.sites.filter(({ name }) => site === null || name === site);
    for (const each of sites) {
      const called = { ...each, way: wayToSite(each, settings) };
      const known = async () => (data === null ? null : newestSeen(data, each.name));
      const within = 4 * each.timeout + QUERY_WITHIN + MARGIN;
      run(`site ${each.name}`, async (report) => checkSite(report, called, await known()), within);
    }
    const receivers = async (): Promise<readonly Finding[]> => {
      if (quiet) return [];
      // Sites that asked for a rest get no call; the findings about daemons name them.
      const resting = data === null || all ? [] : await restingOf(data);
      const isTried = ({ name }: { name: string }): boolean => !resting.includes(name);
      const found = (await webhooksOf(settings, data)).filter(isTried);
      const within = settings.webhooks.timeout + MARGIN;
      const tried = found.map((webhook) =>
        checked(`receiver ${webhook.name}`, within, (report) => checkWebhook(report, webhook, settings)),
      );
      const brokers = brokersOf(settings).filter(isTried);
      tried.push(...brokers.map((broker) => checked(`receiver ${broker.name}`, within, (report) => checkBroker(report, broker))));
      return (await Promise.all(tried)).flat();
    };
    run('receivers', receivers, DATABASE_WITHIN + settings.webhooks.timeout + MARGIN);
    for (const channel of quiet ? [] : settings.channels) {
      const { ping } = peopleKind(channel.kind);
      const asked = { channel, ping, setting: channelSetting(settings, channel), way: wayToChannel(channel, settings) };
      run(channelTitle(channel), (report) => checkChannel(report, asked), (ping?.within ?? 0) + MARGIN);
    }
    if (data !== null && settings.slack.deadMansSwitch !== null)
      run("dead man's switch", (report) => checkDeadMansSwitch(report, data, channelCeilings(settings)));
    const { traces } = settings;
    if (traces !== null) run('traces', (report) => checkTraces(report, traces));
    run('sites', async () => checkCredentials({ sites }), QUERY_WITHIN);
    const named = { ...settings, sites };
    run('proxies', async () => checkWays(named, await webhooksOf(settings, data)));
    run('encryption', () => checkEncryption(named, data));
    for (const group of groups) yield* await group;
  } finally {
    await close();
  }
}

/** Runs the checks for callers of a daemon; `send`: with test events to receivers. Answers every finding. */
export type Examiner = (send: boolean) => Promise<readonly Finding[]>;

/** Checks what the settings of a running daemon name. Callers at the same time who ask for the same share one run. */
export function createExaminer(settings: Settings, migrations: string): Examiner {
  const underWay = new Map<boolean, Promise<readonly Finding[]>>();
  return (send) => {
    const run =
      underWay.get(send) ??
      Array.fromAsync(examineSettings(settings, { migrations, site: null, quiet: !send, all: false })).finally(() =>
        underWay.delete(send),
      );
    underWay.set(send, run);
    return run;
  };
}

/** A warning when a daemon uses other settings: the findings about sites, alerts and receivers do not hold for that daemon. */
async function checkOtherSettings(report: Reporter, sql: Sql, settings: Settings): Promise<Finding[]> {
  const difference = await otherSettings(sql, settings);
  if (difference === null) return [];
  const todo =
    'run doctor with the settings of the daemon (on the page /system of the console, or by POST /v1/doctor), or restart the daemon with these';
  return [report.warning(`the settings of this process were checked, and ${difference}`, todo)];
}

/** Client ids and secrets that hold more than was meant. */
function checkCredentials({ sites }: Pick<Settings, 'sites'>): Finding[] {
  return oddCredentials(sites).map(({ site, field, has }) =>
    reporterOf(`site ${site}`).warning(`its ${field} has ${has}`, ODD_CREDENTIAL_ADVICE),
  );
}

/** Addresses to which what is sent goes in the clear. */
async function checkEncryption(settings: Settings, sql: Sql | null): Promise<Finding[]> {
  const stored = sql === null ? [] : unencryptedStored(secretsOf(settings), await readSubscribers(sql));
  return [...unencrypted(settings), ...stored].map(({ about, address }) =>
    reporterOf(about).warning(`what goes to ${address} is not encrypted`, ENCRYPTION_ADVICE),
  );
}

function readSettings(env: NodeJS.ProcessEnv): Settings | Finding[] {
  try {
    return loadSettings(env, { requireSite: true });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'configuration') throw error;
    const report = reporterOf('settings');
    return error.message
      .split('\n')
      .map((problem) => report.failed(problem, 'mend the settings and run doctor again: nothing else was checked'));
  }
}

function wrongSite({ sites }: Settings, site: string | null): AppError | null {
  if (site === null || sites.some(({ name }) => name === site)) return null;
  return new AppError('invalid', `${JSON.stringify(site)} is not a site; known: ${sites.map(({ name }) => name).join(', ')}`);
}

const OPEN_TO_OTHERS = 'who changes it decides where events and alerts go, at the next reload';

function aboutSettings(settings: Settings): Finding[] {
  const { ignored, subscribers, channels, sites, configFile, apiKeys, dataDir } = settings;
  const report = reporterOf('settings');
  const found = [report.ok(configFile === null ? 'they are complete' : `they are complete, with ${configFile}`)];
  const warn = (text: string, todo: string): void => void found.push(report.warning(text, todo));
  if (ignored.length > 0)
    warn(`${ignored.join(', ')} have no effect`, 'the file names the sites: remove the variables, or the sites there');
  if (configFile !== null && isOpenToOthers(configFile))
    warn(`every user of this machine may change ${configFile}`, `${OPEN_TO_OTHERS}: chmod o-w ${configFile}`);
  const closed = apiKeys.length === 0 ? machineKeyTrouble(dataDir) : null;
  if (closed !== null) warn(closed, 'until then a daemon refuses all calls of the API, and its console');
  for (const { name, detail } of endingKeys(apiKeys, wall())) warn(`the key ${name} of the API ${detail}`, ENDING_KEY_ADVICE);
  if (subscribers.length === 0 && channels.length === 0)
    warn(
      'they name neither a subscriber nor a channel',
      'set WEBHOOK_URL or SLACK_WEBHOOK_URL, unless subscribers are made by the API or read the feed',
    );
  const { silentSites, criticalOnly } = sitesWithoutChannel({ channels, sites });
  const them = (names: readonly string[]): string => (names.length === 1 ? 'it' : 'them');
  if (silentSites.length > 0)
    warn(
      `people are not alerted of incidents at ${silentSites.join(', ')}: no channel has ${them(silentSites)}`,
      'add what is missing to the sites of a channel, or leave out its sites for all',
    );
  if (criticalOnly.length > 0)
    warn(
      `people are not alerted of warnings at ${criticalOnly.join(', ')}: the channels for ${them(criticalOnly)} have severity: critical`,
      'leave out the severity of a channel, or make one for warnings: most incidents begin as one, and digests go there',
    );
  if (channels.length === 0)
    warn(
      'people are not alerted of incidents: neither SLACK_WEBHOOK_URL nor slack.channels is set',
      'make an incoming webhook in Slack and set it; "purchase-watch slack test" shows whether messages arrive',
    );
  return found;
}

async function openDatabase({ databaseUrl, dataDir, poolMode }: Settings) {
  const report = reporterOf('database');
  const nothing = { sql: null, url: '', close: async () => undefined };
  if (databaseUrl === null && !hasEmbedded(dataDir)) {
    const found = `the embedded Postgres was never started in ${dataDir}; "purchase-watch start" makes it`;
    return { ...nothing, findings: [report.ok(found)] };
  }
  let embedded: Awaited<ReturnType<typeof startEmbedded>> | null = null;
  try {
    embedded = databaseUrl === null ? await startEmbedded({ dataDir }) : null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...nothing, findings: [report.failed(error.message, `mend that, or set DATABASE_URL`)] };
  }
  const url = databaseUrl ?? embedded!.url;
  const asked = { sessionLimits: sessionLimitsFor(DATABASE_WITHIN), ...(embedded === null && { poolMode }) };
  const { sessionLimits, lacking } = await agreeOnSession(url, asked);
  const sql = connect(url, { max: 4, name: 'doctor', sessionLimits });
  const close = async (): Promise<void> => {
    await sql.end({ timeout: 1 });
    await embedded?.stop();
  };
  const reached = await checked('database', DATABASE_WITHIN, async () => {
    try {
      await sql`select 1`;
      return [];
    } catch (error) {
      return [report.failed(describeConnectionError(url, error), 'nothing works without it: mend DATABASE_URL or the server')];
    }
  });
  const isWrong = lacking !== null && lacking.wrong.length > 0;
  const findings = lacking === null ? [] : [report[isWrong ? 'failed' : 'warning'](lacking.detail, lacking.advice)];
  return reached.length === 0 ? { sql, url, findings, close } : { sql: null, url, findings: reached, close };
}

async function isMigrated(sql: Sql, migrations: string): Promise<boolean> {
  try {
    return isUsable(await schemaStatus(sql, migrations));
  } catch {
    return false;
  }
}
