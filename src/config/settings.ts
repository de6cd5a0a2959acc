/** The operator's settings, checked. */

import type { StuckMode } from '../domain/incidents/audience.ts';
import type { PollPolicy } from '../domain/polling/poll-plan.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import type { Way } from '../domain/values/way.ts';
import type { ApiKey } from './api-keys.ts';
import type { AddressRange } from './kinds/address-range.ts';
import type { PoolMode } from './kinds/connection-shares.ts';
import type { PeopleKind } from './kinds/people-kinds.ts';
import type { FileSettings } from './schema/file-schema.ts';
import type { SubscriberSettings } from './subscribers.ts';
import type { traceSettings } from './traces.ts';

/** One merchant account at the checkout service. */
export type SiteSettings = { name: string } & NonNullable<FileSettings['sites']>[string];

export type { SubscriberSettings, WebhookSettings } from './subscribers.ts';

/** The kind of channel by which a subscriber gets events. */
export type ChannelKind = SubscriberSettings['kind'] | PeopleKind;

/** The proxies that the environment names for whatever calls others. */
export interface EnvironmentProxies {
  http: Way;
  https: Way;
  /** The entries of `NO_PROXY`: hosts with those below them, and ranges of addresses. */
  exempt: {
    readonly hosts: readonly { readonly name: string; readonly port: number | null }[];
    readonly ranges: readonly AddressRange[];
  };
}

export interface Settings {
  /** Null: the embedded Postgres in `dataDir`. */
  databaseUrl: string | null;
  /** Another address of the same database, for notifications; null: the same one. */
  listenUrl: string | null;
  /** How a pooler before the database hands out sessions; `auto`: the start finds out. */
  poolMode: PoolMode;
  /** Connections to the database of a daemon, of all its pools together. */
  connections: number;
  dataDir: string;
  sites: SiteSettings[];
  policy: PollPolicy;
  /** Channels for people; `default` of the variable first. */
  channels: readonly ChannelSettings[];
  /** Settings of all channels for people. */
  slack: Omit<FileSettings['slack'], 'channels'>;
  subscribers: SubscriberSettings[];
  webhooks: FileSettings['webhooks'];
  proxies: EnvironmentProxies;
  store: FileSettings['store'];
  /** None: only programs of this machine may call the API, and need no key. */
  apiKeys: ApiKey[];
  secretsKey: string | null;
  /** Keys that `secretsKey` replaces, as they were given: one, or several separated by commas. */
  secretsKeyPrevious: string | null;
  /** Where people open the console, without the last slash; null: wherever they reach this daemon. */
  consoleUrl: string | null;
  host: string;
  port: number;
  /** How long a stop may take. */
  shutdownTimeout: Milliseconds;
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** Null: no traces. */
  traces: ReturnType<typeof traceSettings>;
  /** Files from which secrets were read; those of the database, which are read for each connection, are not among them. */
  secretFiles: readonly string[];
  /** The file that was read. */
  configFile: string | null;
  /** The origin of each value, by variable or by path in the file; a value that is not in here is a default. */
  origins: ReadonlyMap<string, string>;
  /** Variables that are set and have no effect, because the file replaces them. */
  ignored: readonly string[];
}

/** Settings of every channel for people. */
interface NamedChannel {
  readonly name: string;
  /** A secret; of e-mail, its `smtpUrl`. */
  readonly webhookUrl: string;
  /** Null: all, and alerts that are of no site. */
  readonly sites: readonly string[] | null;
  /** The least urgent alerts that the channel gets. */
  readonly severity: 'warning' | 'critical';
  /** Messages within an hour, at most; null: there is no such limit. */
  readonly maxPerHour: number | null;
  /** When the channel gets an alert about a single stuck checkout. */
  readonly stuck: StuckMode;
  /** Whether the channel gets an alert about an order that was paid twice. */
  readonly paidTwice: boolean;
}

/** Settings that channels of one kind have besides. */
interface OwnOfKind {
  readonly slack: unknown;
  readonly teams: unknown;
  readonly email: { readonly from: string; readonly to: readonly string[] };
  readonly alertmanager: unknown;
  readonly alerts: { readonly secret: string; readonly oldSecrets: readonly string[] };
}

/** One channel for people of a kind. */
export type ChannelOf<Kind extends PeopleKind> = NamedChannel & { readonly kind: Kind } & OwnOfKind[Kind];
export type ChannelSettings = { readonly [Kind in PeopleKind]: ChannelOf<Kind> }[PeopleKind];
