/** What the operator chose, checked. */

import type { StuckMode } from '../domain/incidents/audience.ts';
import type { PollPolicy } from '../domain/polling/poll-plan.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { ApiKey } from './api-keys.ts';
import type { PeopleKind } from './kinds/people-kinds.ts';

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

/** The kind of channel by which a subscriber is told. */
export type ChannelKind = SubscriberSettings['kind'] | PeopleKind;

export interface Settings {
  /** Null: the embedded Postgres in `dataDir`. */
  databaseUrl: string | null;
  dataDir: string;
  sites: SiteSettings[];
  policy: PollPolicy;
  /** Those for people; `default` of the variable first. */
  channels: readonly ChannelSettings[];
  /** What holds for all channels for people. */
  slack: {
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

/** What every channel for people has. */
interface NamedChannel {
  readonly name: string;
  /** A secret. */
  readonly webhookUrl: string;
  /** Null: all, and what is of no site. */
  readonly sites: readonly string[] | null;
  /** The least urgent that it hears of. */
  readonly severity: 'warning' | 'critical';
  /** Messages within an hour, at most; null: there is no such limit. */
  readonly maxPerHour: number | null;
  /** When a single stuck checkout alerts it. */
  readonly stuck: StuckMode;
}

/** What channels of a kind have besides. */
interface OwnOfKind {
  readonly slack: unknown;
  readonly teams: unknown;
  readonly alerts: { readonly secret: string; readonly oldSecrets: readonly string[] };
}

/** One channel for people of a kind, and what it hears of. */
export type ChannelOf<Kind extends PeopleKind> = NamedChannel & { readonly kind: Kind } & OwnOfKind[Kind];
export type ChannelSettings = { readonly [Kind in PeopleKind]: ChannelOf<Kind> }[PeopleKind];
