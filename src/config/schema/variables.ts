/** The environment's variables: each is one line, checked as its counterpart in the file where there is one. */
import { CONNECTIONS, POOL_MODES } from '../kinds/connection-shares.ts';
import { clientId, clientSecret } from '../kinds/credential.ts';
import { type Field, list, optional, preset } from '../kinds/field.ts';
import { bearerKey } from '../kinds/key-kinds.ts';
import * as kind from '../kinds/kinds.ts';
import { site } from './file-schema.ts';

const forStart = 'required for `start`';

/** In the order of the reference. */
export const VARIABLES = {
  DATABASE_URL: optional(kind.postgresUrl, 'Postgres to use', 'embedded Postgres in `DATA_DIR`'),
  DATABASE_PASSWORD: optional(
    kind.password,
    'Password of that login, where the address has none; a file of `DATABASE_PASSWORD_FILE` or `DATABASE_URL_FILE` is read again for each connection',
    'what libpq finds: `PGPASSWORD`, `PGPASSFILE`, `~/.pgpass`',
  ),
  DATABASE_LISTEN_URL: optional(
    kind.postgresUrl,
    'The same database without the pooler in transaction mode that is before `DATABASE_URL`: one connection hears notifications there',
    '`DATABASE_URL`; behind such a pooler the daemon asks for work every second',
  ),
  DATABASE_POOL_MODE: preset(
    kind.oneOf(POOL_MODES),
    'auto',
    'How a pooler before `DATABASE_URL` hands out sessions: auto (the start finds out), session or transaction',
  ),
  DATABASE_CONNECTIONS: preset(
    kind.whole(CONNECTIONS.least, CONNECTIONS.most),
    CONNECTIONS.usual,
    'Connections of a daemon to the database, all its pools together; for a moment a start takes up to three more, and `doctor` as many again',
  ),
  DATA_DIR: preset(kind.text, './.purchase-watch', 'Where the embedded Postgres and kept keys live'),
  CHECKOUT_BASE_URL: optional(kind.baseUrl, 'Base address of the checkout service, for the site named `default`', forStart),
  CHECKOUT_CLIENT_ID: optional(clientId, 'Client ID (with `basic` the user name)', forStart),
  CHECKOUT_CLIENT_SECRET: optional(clientSecret, 'Client secret (with `basic` the password)', forStart),
  CHECKOUT_AUTH: site.shape.auth,
  CHECKOUT_TIME_ZONE: site.shape.timeZone,
  CHECKOUT_MAX_RPS: site.shape.maxRps,
  CHECKOUT_CONCURRENCY: site.shape.concurrency,
  CHECKOUT_TIMEOUT: site.shape.timeout,
  CHECKOUT_INVOICES: site.shape.invoices,
  CHECKOUT_PROXY: site.shape.proxy,
  SLACK_WEBHOOK_URL: optional(kind.secretUrl, 'Incoming webhook to which alerts are posted: the channel named `default`'),
  DEAD_MANS_SWITCH_URL: optional(kind.secretUrl, 'Wins over `slack.deadMansSwitch`'),
  WEBHOOK_URL: optional(kind.receiverUrl, 'Where events are posted, for the subscriber named `default`'),
  WEBHOOK_SECRET: list(
    kind.signingSecret,
    [],
    'Signs what that subscriber gets: `whsec_` and base64 of 24 to 64 bytes; while it is replaced, the new one and the old one',
  ),
  WEBHOOK_ALLOW_ADDRESSES: list(kind.addressRange, [], 'Wins over `webhooks.allowAddresses`'),
  WEBHOOK_API_ALLOW_ADDRESSES: list(kind.addressRange, [], 'Wins over `webhooks.apiAllowAddresses`'),
  WEBHOOK_PROXY: optional(kind.proxy, 'Wins over `webhooks.proxy`', 'as the environment says'),
  API_KEY: list(
    bearerKey,
    [],
    'Bearer key of the API with every scope; while it is replaced, the new one and the old one. Without any key only a loopback `HOST` is accepted',
  ),
  API_READ_KEY: optional(bearerKey, 'Bearer key with the scopes `read` and `metrics`'),
  SECRETS_KEY: optional(kind.encryptionKey, 'Encrypts stored secrets', 'a key kept in `DATA_DIR` when embedded'),
  SECRETS_KEY_PREVIOUS: optional(
    kind.encryptionKey,
    'The key that SECRETS_KEY replaces, or several separated by commas: opens what is stored until it is sealed again',
  ),
  CONSOLE_URL: optional(
    kind.baseUrl,
    'Address at which people open the console, such as `https://ops.example.com/purchase-watch`; alerts in Slack and Teams link to it',
    'the address of each request; alerts have no links',
  ),
  HOST: preset(kind.text, '127.0.0.1', 'Address to listen on; `localhost` is `127.0.0.1`'),
  PORT: preset(kind.whole(0, 65_535), 8080, 'Port to listen on; 0 takes a free one'),
  SHUTDOWN_TIMEOUT: preset(
    kind.duration,
    '8s',
    'How long a stop may take at most; keep it below the time after which Docker (10 s) or Kubernetes (30 s) kills',
  ),
  LOG_LEVEL: preset(
    kind.oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    'info',
    'What is logged: fatal, error, warn, info, debug, trace or silent',
  ),
  PURCHASE_WATCH_CONFIG: optional(kind.text, 'Path of the settings file'),
} satisfies Record<string, Field<unknown>>;

export type VariableName = keyof typeof VARIABLES;
export const VARIABLE_NAMES = Object.keys(VARIABLES) as VariableName[];
/** Variables that make the site named `default`, unless the file has `sites`. */
export const SITE_VARIABLES = VARIABLE_NAMES.filter((name) => name.startsWith('CHECKOUT_'));
