/** The settings file, section by section: its check, its defaults and its meaning in one place. */

import * as z from 'zod';
import { DEFAULT_SCHEDULE } from '../../domain/deliveries/delivery-plan.ts';
import { EVENT_TYPES } from '../../domain/events/system-event-types.ts';
import { DEFAULT_POLL_POLICY } from '../../domain/polling/poll-plan.ts';
import { STATE_NAMES } from '../../domain/purchases/states.ts';
import { formatDuration } from '../../domain/values/duration.ts';
import { clientId, clientSecret } from '../kinds/credential.ts';
import { absentable, entry, list, open, openList, optional, preset, required, section } from '../kinds/field.ts';
import { headerNameProblem, isHeaderName, UNSHOWN_NAME } from '../kinds/headers.ts';
import { bearerKey, keyHash, keyProblem, moment, SCOPES } from '../kinds/key-kinds.ts';
import * as kind from '../kinds/kinds.ts';
import { INVOICE_FIELDS, STATUS_FIELDS } from '../kinds/names.ts';
import { subscriberProblems } from '../kinds/subscriber-checks.ts';
import * as kindOfSubscriber from '../kinds/subscriber-kinds.ts';
import { ownName, peopleChannel, slack } from './people-schema.ts';

/** Where events go at a broker, unless the subscriber says otherwise. */
export const DEFAULT_SUBJECT = 'purchase-watch.{type}';
export const DEFAULT_ROUTING_KEY = '{type}';

const growth = kind.number('a number from 0 to 10', (value) => value >= 0 && value <= 10, {
  type: 'number',
  minimum: 0,
  maximum: 10,
});
const ofState = 'by state';

/** One state's plan at a site. Absent fields stay as they are, so no field here has a default of its own. */
const sitePlan = section({
  poll: absentable(
    section({
      first: open(kind.duration, 'Shortest wait between two polls', ofState),
      growth: open(growth, 'Share of the time already spent in the state that the next poll waits', ofState),
      most: open(kind.duration, 'Longest wait between two polls', ofState),
    }),
  ),
  stuckAfter: open(
    kind.limit,
    'Time in the state after which the purchase is stuck, `auto` to learn it from customers who got on, or `never`',
    ofState,
  ),
});

/** One state's plan at all sites. Which states are final is a fact of the service, and the same everywhere. */
const statePlan = section({
  ...sitePlan.shape,
  final: open(kind.flag, 'Whether the state ends the watching', ofState),
  recheck: openList(kind.duration, 'Polls after a final state, each counted from its first observation', ofState),
});
/** A plan of all sites, or of one site, which says nothing of final states. */
export type StatePlan = z.output<typeof sitePlan> & Partial<z.output<typeof statePlan>>;

const stateKeys = [...STATE_NAMES, 'default'];
const stateKey = z.string().refine((key) => key === 'default' || kind.state.read(key) !== undefined, {
  error: 'a state name, a state number or default',
  params: { names: stateKeys },
});

/** Which stuck purchases are announced before their session ends. Without the section, none are. */
const atRisk = section({
  before: preset(
    kind.duration,
    '5m',
    'Turns `purchase.at_risk` on: a stuck purchase is announced this long before its session ends (`polling.sessionLength`)',
  ),
  minimumAmount: z
    .record(
      z.string().refine((key) => /^[A-Z]{3}$/.test(key), {
        error: 'a currency in three capital letters, such as SEK',
        params: { names: ['SEK', 'EUR'] },
      }),
      entry(
        kind.number('a number from 0 on', (value) => value >= 0, { type: 'number', minimum: 0 }),
        'The least amount that is announced, by currency; others are not announced. Without any, every amount is',
      ),
    )
    .prefault({}),
});

/** One site; the variables that begin with CHECKOUT_ are these fields for the site named `default`. */
export const site = section({
  baseUrl: required(kind.baseUrl, 'Base address of the checkout service'),
  auth: preset(
    kind.oneOf(['oauth2', 'basic']),
    'oauth2',
    'How calls are authenticated; the specification leaves open which one the operations use',
  ),
  clientId: required(clientId, 'Client ID (with `auth: basic` the user name)'),
  clientSecret: required(clientSecret, 'Client secret (with `auth: basic` the password)'),
  timeZone: preset(kind.timeZone, 'Europe/Stockholm', "Zone of the service's local date-times"),
  maxRps: preset(
    kind.number('a number greater than 0', (value) => value > 0, { type: 'number', exclusiveMinimum: 0 }),
    50,
    'Ceiling of calls a second, over all replicas together',
  ),
  concurrency: preset(kind.whole(1, 1_000), 32, 'Calls in flight per replica'),
  timeout: preset(kind.duration, '10s', 'Time for one call, headers and body'),
  proxy: optional(kind.proxy, 'Proxy through which the service is called (CONNECT), or `direct`', 'as the environment says'),
  invoices: preset(kind.flag, false, 'Whether the invoice of each completed purchase is asked for and announced'),
  formerly: list(
    kind.ownName,
    [],
    'Former names of the site: their purchases move here, and registrations by them are taken for it',
  ),
  states: z
    .record(stateKey, sitePlan)
    .optional()
    .describe('Plans of this site by state name or number, merged field by field over those of all sites'),
  atRisk: atRisk.optional(),
});

/** Lets a check of a mapping see it although something in it is wrong already, so that all problems are listed at once. */
const EVEN_WHEN_WRONG = {
  when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

const headers = z
  .record(z.string(), entry(kindOfSubscriber.headerValue, 'A header that every POST to it has; its value is never shown'))
  .superRefine((given, context) => {
    for (const name of Object.keys(given)) {
      const problem = isHeaderName(name) ? headerNameProblem(name) : UNSHOWN_NAME;
      if (problem !== null) context.addIssue({ code: 'custom', path: [name], message: problem, params: { problem } });
    }
  }, EVEN_WHEN_WRONG);

export const subscriber = section({
  url: required(
    kindOfSubscriber.subscriberUrl,
    'Where events are sent: `http(s)://` posts them, `nats://` and `tls://` publish to NATS, `amqp(s)://` to RabbitMQ',
  ),
  secret: optional(
    kind.signingSecret,
    'Signs what is sent: `whsec_` and base64 of 24 to 64 bytes. Brokers may do without',
    'required for webhooks',
  ),
  oldSecrets: list(kind.signingSecret, [], 'Secrets that `secret` replaces; each signs beside it until it is taken out here'),
  signingKey: optional(kindOfSubscriber.signingKey, 'Signs with ed25519 as well: `whsk_` and base64 of the private key'),
  format: preset(
    kind.oneOf(['standard', 'cloudevents']),
    'standard',
    'What the body is: `standard` as in the feed, or `cloudevents`',
  ),
  headers: headers.optional(),
  clientCertificate: optional(
    kindOfSubscriber.pemCertificate,
    'Certificate, with the chain behind it, for an https receiver or a broker that asks for one, as PEM',
  ),
  clientKey: optional(kindOfSubscriber.pemKey, 'Private key of that certificate, as PEM'),
  credentials: optional(kindOfSubscriber.natsCredentials, 'Login at NATS: the content of a .creds file, or the seed of an NKEY'),
  subject: open(kindOfSubscriber.subject, 'Subject at NATS, with the placeholders `{type}` and `{site}`', DEFAULT_SUBJECT),
  exchange: open(kindOfSubscriber.exchange, 'Exchange at RabbitMQ; it must exist', 'required for RabbitMQ'),
  routingKey: open(
    kindOfSubscriber.routingKey,
    'Routing key at RabbitMQ, with the placeholders `{type}` and `{site}`',
    DEFAULT_ROUTING_KEY,
  ),
  types: openList(kind.oneOf(EVENT_TYPES, 'an event type'), 'Types of events', 'all'),
  sites: openList(kind.text, 'Names of sites', 'all'),
  states: openList(kind.state, 'States a purchase changed to, by name or number', 'all'),
})
  .superRefine((given, context) => {
    const wrong = new Set(context.issues.map(({ path }) => path?.[0]));
    for (const { path, problem } of subscriberProblems(given, wrong)) {
      context.addIssue({ code: 'custom', path: [...path], message: problem, params: { problem } });
    }
  }, EVEN_WHEN_WRONG)
  // The check of secrets above, as editors can use it.
  .meta({ if: { properties: { url: { pattern: '^(?:nats|tls|amqps?)://|\\$\\{' } } }, else: { required: ['secret'] } });

const polling = section({
  giveUpAfter: preset(
    kind.duration,
    formatDuration(DEFAULT_POLL_POLICY.giveUpAfter),
    'Time without a change after which a purchase is no longer watched',
  ),
  unreadableAfter: preset(
    kind.whole(1, 1_000),
    DEFAULT_POLL_POLICY.unreadableAfter,
    'Answers in a row that the service does not know the purchase, until it counts as unreadable',
  ),
  sessionLength: preset(
    kind.duration,
    formatDuration(DEFAULT_POLL_POLICY.sessionLength),
    'How long a session at the service lives; a limit that is learned stays 5 min below it',
  ),
  atRisk: atRisk.optional(),
});

const webhooks = section({
  schedule: list(kind.duration, DEFAULT_SCHEDULE, 'Waits between one try and the next; after the last one a delivery has failed'),
  timeout: preset(kind.duration, '15s', 'Time for one try'),
  concurrency: preset(kind.whole(1, 1_000), 64, 'Deliveries in flight per subscriber and replica'),
  allowAddresses: list(
    kind.addressRange,
    [],
    'Ranges (CIDR, with a port or without) of addresses that are not public and that subscribers of the settings may have',
  ),
  apiAllowAddresses: list(kind.addressRange, [], 'The same for subscribers that the API or a command adds'),
  proxy: optional(
    kind.proxy,
    'Proxy through which webhooks are sent (CONNECT), or `direct`; it must itself refuse addresses that are not public',
    'as the environment says',
  ),
});

/** A key of the API beside those of the variables. */
export const apiKey = section({
  scopes: list(kind.oneOf(SCOPES), [], 'What it is for: `read`, `metrics`, `register`, `operate`'),
  hash: optional(keyHash, 'SHA-256 hash of the key: `sha256:` and 64 hexadecimal digits', 'required, unless `key` is there'),
  key: optional(bearerKey, 'The key itself, instead of its hash'),
  expires: optional(moment, 'When it expires: a day (its beginning in UTC) or a time with its zone', 'never'),
})
  .superRefine((given, context) => {
    const problem = keyProblem(given);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem, params: { problem } });
  })
  // The check above, as editors can use it.
  .meta({ oneOf: [{ required: ['scopes', 'hash'] }, { required: ['scopes', 'key'] }] });

const store = section({
  fields: list(
    kind.oneOf([...STATUS_FIELDS, ...INVOICE_FIELDS], "a field of the service's purchase status or invoice"),
    ['Price', 'CurrencyCode', 'OrderReference', 'SiteCode', 'CountryCode', 'PaymentMethod'],
    "Fields of the service's answers that are stored and sent, those of an invoice only sent; nothing else is ever written",
  ),
  retention: absentable(
    section({
      settled: preset(kind.durationOrForever, '90d', 'How long purchases that are no longer watched are kept, or `forever`'),
      attempts: preset(kind.durationOrForever, '30d', 'How long attempts of deliveries are kept, or `forever`'),
      events: preset(
        kind.durationOrForever,
        '90d',
        'How long events of no single purchase, ended incidents, silences and numbers of stays by day are kept, or `forever`',
      ),
      trends: preset(
        kind.durationOrForever,
        '400d',
        'How long counts by hour of how purchases ended and of attempts are kept, or `forever`',
      ),
      at: preset(kind.cron, '17 3 * * *', 'When what is older is deleted, as a cron expression in UTC'),
    }),
  ),
});

/** A section that has nothing but channels for people. */
function channelsOf<Channel extends z.ZodType>(channel: Channel, meaning: string) {
  return absentable(section({ channels: z.record(ownName, channel).prefault({}).describe(meaning) }));
}

/** The whole file. A section that is absent has its defaults. */
export const file = section({
  $schema: z.string().optional().describe('Where editors find this schema; the program does not read it'),
  sites: z
    .record(ownName, site)
    .optional()
    .describe('Merchant accounts by name; replaces the variables that begin with CHECKOUT_'),
  states: z
    .record(stateKey, statePlan)
    .prefault({})
    .describe(
      'Plans by state name or number, merged over the defaults field by field. `default` serves numbers that the specification does not list; every known state has a plan of its own, which `default` leaves as it is',
    )
    .meta({ propertyNames: { anyOf: [{ enum: stateKeys }, { pattern: '^-?\\d{1,10}$|^Unknown\\(-?\\d{1,10}\\)$' }] } }),
  polling: absentable(polling),
  slack: absentable(slack),
  teams: channelsOf(peopleChannel.teams, 'Channels of Microsoft Teams by name'),
  email: channelsOf(peopleChannel.email, 'Channels of e-mail by name'),
  alerts: channelsOf(peopleChannel.alerts, 'Webhooks of systems that page people, by name'),
  alertmanager: channelsOf(peopleChannel.alertmanager, 'Alertmanagers by name'),
  subscribers: z.record(ownName, subscriber).prefault({}).describe('Receivers of events by name'),
  webhooks: absentable(webhooks),
  api: absentable(section({ keys: z.record(ownName, apiKey).prefault({}).describe('Keys of the API by name') })),
  store: absentable(store),
});
export type FileSettings = z.output<typeof file>;
