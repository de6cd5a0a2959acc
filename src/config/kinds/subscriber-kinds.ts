/** The kinds of values that only subscribers have. */
import { shownAddress } from '../../domain/values/shown-address.ts';
import { brokerHref, brokerServers } from './broker-servers.ts';
import { HEADER_VALUE, isHeaderValue } from './headers.ts';
import { orPlaceholder, receiverUrl, textKind } from './kinds.ts';
import { readSigningKey } from './signing-key.ts';

/** The kind of receiver that an address leads to. */
export type AddressKind = 'webhook' | 'nats' | 'rabbitmq';

const BROKERS: ReadonlyMap<string, AddressKind> = new Map([
  ['nats', 'nats'],
  ['tls', 'nats'],
  ['amqp', 'rabbitmq'],
  ['amqps', 'rabbitmq'],
]);

/** Which kind of subscriber an address leads to, by its scheme; everything that is no broker's is a webhook's. */
export function addressKind(url: string): AddressKind {
  return BROKERS.get(/^([a-z]+):\/\//i.exec(url)?.[1]?.toLowerCase() ?? '') ?? 'webhook';
}

function brokerUrl(value: string): string | undefined {
  const servers = /[\s\p{Cc}]/u.test(value) ? null : brokerServers(value);
  if (servers === null) return undefined;
  try {
    const { username, password, pathname } = servers[0]!;
    decodeURIComponent(username + password + pathname);
    // A path behind a host of NATS may be the rest of a password with a / that is not escaped.
    if (addressKind(value) === 'nats' && !/^\/?$/.test(pathname)) return undefined;
    return brokerHref(servers);
  } catch {
    // A percent sign that is meant as such has to be written as %25.
    return undefined;
  }
}

export const subscriberUrl = textKind(
  'an http or https address without credentials and fragment, or a broker without query: nats, tls (NATS with TLS), amqp or amqps (RabbitMQ), its credentials percent-encoded (%2F for /, %40 for @, %23 for #), several servers separated by commas',
  { pattern: orPlaceholder('(?:https?|nats|tls|amqps?)://[^#]+') },
  (value) => (addressKind(value) === 'webhook' ? receiverUrl.read(value) : brokerUrl(value)) ?? false,
  { write: shownAddress, isAddress: true },
);

/** An ed25519 key that signs. */
export const signingKey = textKind(
  'whsk_ followed by base64 of an ed25519 private key (its 32 bytes, or 64 with the public key that belongs to it)',
  { pattern: orPlaceholder('whsk_[A-Za-z0-9+/]+={0,2}') },
  (value) => readSigningKey(value) !== null,
  { secret: true },
);

export const headerValue = textKind(HEADER_VALUE, { minLength: 1 }, isHeaderValue, { secret: true });

/** A certificate or key as text. Whether it is a good one shows when both are used together. */
function pem(what: string, begins: RegExp) {
  const expected = `${what} in PEM, beginning with -----BEGIN`;
  return textKind(expected, { minLength: 1 }, (value) => begins.test(value), { secret: true });
}
export const pemCertificate = pem('a certificate', /-----BEGIN CERTIFICATE-----/);
export const pemKey = pem('a private key without a passphrase', /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/);

/** The login of a user of NATS: the content of a .creds file, or the seed of an NKEY. */
export const natsCredentials = textKind(
  'the content of a .creds file of NATS, or the seed of a user NKEY (SU…)',
  { minLength: 1 },
  (value) => (isSeed(value) || isCredsFile(value)) && value.trim(),
  { secret: true },
);

/** Whether credentials of NATS are an NKEY's seed alone. */
export function isSeed(credentials: string): boolean {
  return /^SU[A-Z2-7]{56}$/.test(credentials.trim());
}

function isCredsFile(text: string): boolean {
  return /-{3,}BEGIN NATS USER JWT-{3,}/.test(text) && /-{3,}BEGIN USER NKEY SEED-{3,}\s+SU[A-Z2-7]{56}\s/.test(text);
}

const PLACEHOLDER = /\{(?:type|site)\}/g;

/** The subject under which NATS publishes a message: names between dots, without the wildcards of readers. */
export const subject = textKind(
  'a subject such as purchase-watch.{type}: names between dots, with the placeholders {type} and {site}',
  { minLength: 1, maxLength: 200 },
  (value) =>
    value.length <= 200 &&
    !value.startsWith('$') &&
    /^[^\s\p{Cc}.*>{}]+(?:\.[^\s\p{Cc}.*>{}]+)*$/u.test(value.replace(PLACEHOLDER, 'x')),
);

/** The name of an exchange of RabbitMQ. */
export const exchange = textKind(
  'the name of an exchange, of up to 127 characters',
  { minLength: 1, maxLength: 127 },
  (value) => /^[\x20-\x7e]{1,127}$/.test(value) && value !== 'amq.default',
);

/** How RabbitMQ finds the queues. */
export const routingKey = textKind(
  'a routing key of up to 150 ASCII characters, with the placeholders {type} and {site}',
  { maxLength: 150 },
  (value) => /^[\x20-\x7a|\x7e]{0,150}$/.test(value.replace(PLACEHOLDER, 'x')),
);
