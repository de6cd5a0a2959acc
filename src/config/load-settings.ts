/** Reads and checks what the operator chose: the only place that reads the environment and the settings file. */
import { AppError } from '../domain/values/errors.ts';
import { apiKeys } from './api-keys.ts';
import { channelSettings, slackSettings } from './channels.ts';
import { crossChecks } from './cross-checks.ts';
import { file } from './schema/file-schema.ts';
import { pollPolicy, withSites } from './schema/merged-plans.ts';
import { SITE_VARIABLES, type VariableName } from './schema/variables.ts';
import type { Settings } from './settings.ts';
import { fileSites, variableSites } from './sites.ts';
import { type Environment, environmentOf } from './sources/environment.ts';
import { readSettingsFile } from './sources/file.ts';
import { completedUrl } from './sources/libpq.ts';
import { namedSubscribers } from './subscribers.ts';
import { traceSettings } from './traces.ts';
import { environmentProxies } from './ways.ts';

/** DATABASE_URL with what it leaves out. */
function databaseUrl(environment: Environment, env: NodeJS.ProcessEnv, problems: string[]): string | null {
  const url = environment.read('DATABASE_URL', problems);
  const password = environment.read('DATABASE_PASSWORD', problems);
  const named = ['PGHOST', 'PGSERVICE'].find((name) => (env[name] ?? '') !== '');
  // Every command: one that goes on in silence uses another database than the operator named.
  if (named !== undefined && !environment.isSet('DATABASE_URL'))
    problems.push(
      `${named}: names a database, and is used only together with DATABASE_URL; set DATABASE_URL=postgres:/// too, or take ${named} away for the Postgres that comes along`,
    );
  if (url === null) return null;
  const passwordFile = environment.fileOf('DATABASE_PASSWORD');
  const urlFile = environment.fileOf('DATABASE_URL');
  return completedUrl(url, env, { password: passwordFile === null ? password : null, passwordFile, urlFile }, problems);
}

/** Reads and checks the settings; throws AppError('configuration') that lists every problem, one per line. */
export function loadSettings(env: NodeJS.ProcessEnv, { requireSite = false }: { requireSite?: boolean } = {}): Settings {
  const problems: string[] = [];
  const environment = environmentOf(env);
  const read = <Name extends VariableName>(name: Name) => environment.read(name, problems);

  const path = read('PURCHASE_WATCH_CONFIG');
  const found = path === null ? null : readSettingsFile(path, environment, problems);
  const sections = { ...file.parse({}), ...found?.sections };
  // Also when the sites there have problems: then the variables must not take their place.
  const sitesInFile = found?.written(['sites']) ?? null;
  const siteNames = sitesInFile === null ? ['default'] : Object.keys(sitesInFile);
  if (requireSite && siteNames.length === 0) problems.push('sites: is empty; `start` needs at least one site');

  const sites = sitesInFile === null ? variableSites(environment, requireSite, problems) : fileSites(sections.sites);
  const settings: Settings = {
    databaseUrl: databaseUrl(environment, env, problems),
    listenUrl: read('DATABASE_LISTEN_URL'),
    poolMode: read('DATABASE_POOL_MODE'),
    connections: read('DATABASE_CONNECTIONS'),
    dataDir: read('DATA_DIR'),
    sites,
    policy: withSites(pollPolicy(sections.states, sections.polling, problems), sites, problems),
    channels: channelSettings(sections, environment, problems),
    slack: slackSettings(sections.slack, environment, problems),
    subscribers: namedSubscribers(sections.subscribers, environment, problems),
    webhooks: {
      ...sections.webhooks,
      ...(environment.isSet('WEBHOOK_ALLOW_ADDRESSES') && { allowAddresses: read('WEBHOOK_ALLOW_ADDRESSES') }),
      ...(environment.isSet('WEBHOOK_API_ALLOW_ADDRESSES') && { apiAllowAddresses: read('WEBHOOK_API_ALLOW_ADDRESSES') }),
      ...(environment.isSet('WEBHOOK_PROXY') && { proxy: read('WEBHOOK_PROXY') }),
    },
    proxies: environmentProxies(environment, problems),
    store: sections.store,
    apiKeys: apiKeys(sections.api, environment, problems),
    secretsKey: read('SECRETS_KEY'),
    secretsKeyPrevious: read('SECRETS_KEY_PREVIOUS'),
    consoleUrl: read('CONSOLE_URL'),
    // One address, whatever the name resolves to here: the links of `open` lead to it.
    host: read('HOST').replace(/^localhost$/i, '127.0.0.1'),
    port: read('PORT'),
    shutdownTimeout: read('SHUTDOWN_TIMEOUT'),
    logLevel: read('LOG_LEVEL'),
    traces: traceSettings(environment, problems),
    secretFiles: environment
      .files()
      .filter((name) => !name.startsWith('DATABASE_'))
      .map((name) => env[`${name}_FILE`]!),
    configFile: path,
    origins: new Map([...(found?.origins ?? []), ...environment.origins()]),
    ignored: sitesInFile === null ? [] : SITE_VARIABLES.filter(environment.isSet),
  };
  // A key that is set and malformed has its own problem.
  const keysInFile = Object.keys(found?.written(['api', 'keys']) ?? {});
  const isKeyed = keysInFile.length > 0 || environment.isSet('API_KEY') || environment.isSet('API_READ_KEY');
  problems.push(...crossChecks(settings, siteNames, { isKeyed }), ...environment.mistyped());
  if (problems.length > 0) throw new AppError('configuration', [...new Set(problems)].join('\n'));
  return settings;
}
