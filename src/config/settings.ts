/** What the operator chose, checked: the only place that reads the environment and the settings file. */
import type { StuckMode } from '../domain/incidents/audience.ts';
import type { PollPolicy } from '../domain/polling/poll-plan.ts';
import type { Milliseconds } from '../domain/purchases/purchase.ts';
import { AppError } from '../domain/values/errors.ts';
import { type ApiKey, apiKeys } from './api-keys.ts';
import { crossChecks } from './cross-checks.ts';
import { file } from './schema/file-schema.ts';
import { pollPolicy } from './schema/policy.ts';
import { SITE_VARIABLES, type VariableName } from './schema/variables.ts';
import { fileSites, variableSites } from './sites.ts';
import { type ChannelSettings, slackSettings } from './slack.ts';
import { environmentOf } from './sources/environment.ts';
import { readSettingsFile } from './sources/file.ts';
import { namedSubscribers } from './subscribers.ts';

/** One merchant account at the checkout service. */
export interface SiteSettings {
  name: string;
  /** Without a slash at the end. */
  baseUrl: string;
  auth: 'oauth2' | 'basic';
  clientId: string;
  clientSecret: string;
  /** IANA name: the zone of the service's local date-times. */
  timeZone: string;
  /** Calls a second over all replicas together. */
  maxRps: number;
  /** Calls in flight per replica. */
  concurrency: number;
  /** One call, headers and body. */
  timeout: Milliseconds;
  /** Whether the invoice of each completed purchase is asked for. */
  invoices: boolean;
}

/** Who is told, and of what; null means "of everything". */
interface NamedSubscriber {
  name: string;
  /** A broker's may hold credentials. */
  url: string;
  format: 'standard' | 'cloudevents';
  /** Those that `secret` replaces; each signs beside it. */
  oldSecrets: string[];
  /** `whsk_` and base64 of an ed25519 key that signs beside the secret; null: only the secret does. */
  signingKey: string | null;
  types: string[] | null;
  sites: string[] | null;
  /** State numbers. */
  states: number[] | null;
}

export interface WebhookSettings extends NamedSubscriber {
  kind: 'webhook';
  /** `whsec_` and base64, as Standard Webhooks writes it. */
  secret: string;
  /** On top of ours; their values are secrets. */
  headers: Readonly<Record<string, string>>;
  /** Shown to a receiver who asks for it; a pair in PEM. */
  clientCertificate: string | null;
  clientKey: string | null;
}

export interface NatsSettings extends NamedSubscriber, BrokerCertificate {
  kind: 'nats';
  /** The content of a .creds file, or the seed of an NKEY. */
  credentials?: string;
  /** Null: messages are not signed with a secret. */
  secret: string | null;
  /** With the placeholders `{type}` and `{site}`. */
  subject: string;
}

/** There only when it is set: what an address is known by is made of all that is there. */
interface BrokerCertificate {
  clientCertificate?: string;
  clientKey?: string;
}

export interface RabbitSettings extends NamedSubscriber, BrokerCertificate {
  kind: 'rabbitmq';
  secret: string | null;
  exchange: string;
  /** With the placeholders `{type}` and `{site}`. */
  routingKey: string;
}

export type SubscriberSettings = WebhookSettings | NatsSettings | RabbitSettings;

export interface Settings {
  /** Null: the embedded Postgres in `dataDir`. */
  databaseUrl: string | null;
  dataDir: string;
  sites: SiteSettings[];
  policy: PollPolicy;
  slack: {
    /** `default`, of the variable, first. */
    channels: readonly ChannelSettings[];
    /** When a single stuck checkout alerts the channels that have no mode of their own. */
    stuck: StuckMode;
    /** Messages to a channel within an hour, for those that have no number of their own. */
    maxPerHour: number;
    /** Called every minute while all is well; a secret. Null: nothing is called. */
    deadMansSwitch: string | null;
    groupWait: Milliseconds;
    quietFor: Milliseconds;
    groupInterval: Milliseconds;
    repeatInterval: Milliseconds;
    /** A cron expression; null: no digest. */
    digest: string | null;
  };
  subscribers: SubscriberSettings[];
  webhooks: {
    /** The waits between one try and the next. */
    schedule: Milliseconds[];
    timeout: Milliseconds;
    /** Deliveries in flight per subscriber and replica. */
    concurrency: number;
    /** Ranges that are not public and may be called by subscribers of the settings: CIDR, with a port or without. */
    allowAddresses: string[];
    /** The same for subscribers that the API and commands make. */
    apiAllowAddresses: string[];
    /** Through which webhooks are sent; a secret where it holds credentials. Null: they are sent directly. */
    proxy: string | null;
  };
  store: {
    /** The specification's field names. */
    fields: string[];
    /** How long what is kept; infinity: for ever. `at` is a cron expression. */
    retention: { settled: Milliseconds; attempts: Milliseconds; events: Milliseconds; at: string };
  };
  /** None: only programs of this machine may call the API, and need no key. */
  apiKeys: ApiKey[];
  secretsKey: string | null;
  /** Keys that it replaces, as they were given: one, or several separated by commas. */
  secretsKeyPrevious: string | null;
  host: string;
  port: number;
  /** How long a stop may take. */
  shutdownTimeout: Milliseconds;
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** The file that was read. */
  configFile: string | null;
  /** Where each value came from, by variable or by path in the file; what is not in here is a default. */
  origins: ReadonlyMap<string, string>;
  /** Variables that are set and have no effect, because the file replaces them. */
  ignored: readonly string[];
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

  const settings: Settings = {
    databaseUrl: read('DATABASE_URL'),
    dataDir: read('DATA_DIR'),
    sites: sitesInFile === null ? variableSites(environment, requireSite, problems) : fileSites(sections.sites),
    policy: pollPolicy(sections.states, sections.polling, problems),
    slack: slackSettings(sections.slack, environment, problems),
    subscribers: namedSubscribers(sections.subscribers, environment, problems),
    webhooks: {
      ...sections.webhooks,
      ...(environment.isSet('WEBHOOK_ALLOW_ADDRESSES') && { allowAddresses: read('WEBHOOK_ALLOW_ADDRESSES') }),
      ...(environment.isSet('WEBHOOK_API_ALLOW_ADDRESSES') && { apiAllowAddresses: read('WEBHOOK_API_ALLOW_ADDRESSES') }),
      ...(environment.isSet('WEBHOOK_PROXY') && { proxy: read('WEBHOOK_PROXY') }),
    },
    store: sections.store,
    apiKeys: apiKeys(sections.api, environment, problems),
    secretsKey: read('SECRETS_KEY'),
    secretsKeyPrevious: read('SECRETS_KEY_PREVIOUS'),
    host: read('HOST'),
    port: read('PORT'),
    shutdownTimeout: read('SHUTDOWN_TIMEOUT'),
    logLevel: read('LOG_LEVEL'),
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
