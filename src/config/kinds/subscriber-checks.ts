/** Contradictions between the fields of one subscriber, each of which is fine by itself. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { headersProblem } from './headers.ts';
import { signingSecret } from './kinds.ts';
import { type AddressKind, addressKind } from './subscriber-kinds.ts';

/** The fields that are compared; undefined and null are absent. */
export interface CheckedSubscriber {
  readonly url: string;
  readonly secret: string | null;
  readonly oldSecrets: readonly string[];
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly clientCertificate: string | null;
  readonly clientKey: string | null;
  readonly credentials: string | null;
  readonly subject: string | undefined;
  readonly exchange: string | undefined;
  readonly routingKey: string | undefined;
}

export interface SubscriberProblem {
  readonly path: readonly string[];
  readonly problem: string;
}

const WORDS: Readonly<Record<AddressKind, string>> = { webhook: 'a webhook', nats: 'NATS', rabbitmq: 'RabbitMQ' };
/** Which kind of subscribers a field is for; fields that are not listed are for all. */
const ONLY_FOR: readonly (readonly [keyof CheckedSubscriber, AddressKind, string])[] = [
  ['headers', 'webhook', 'webhooks (http, https)'],
  ['credentials', 'nats', 'NATS (nats, tls)'],
  ['subject', 'nats', 'NATS (nats, tls)'],
  ['exchange', 'rabbitmq', 'RabbitMQ (amqp, amqps)'],
  ['routingKey', 'rabbitmq', 'RabbitMQ (amqp, amqps)'],
];

/**
 * Everything that does not fit together. `wrong` are fields with a problem of their own: they are there, and nothing is
 * made of what stands in them.
 */
export function subscriberProblems(subscriber: CheckedSubscriber, wrong: ReadonlySet<unknown> = new Set()): SubscriberProblem[] {
  const kind = wrong.has('url') ? null : addressKind(subscriber.url);
  const strays = kind === null ? [] : ONLY_FOR.filter(([field, only]) => only !== kind && subscriber[field] != null);
  const found: SubscriberProblem[] = strays.map(([field, , whose]) => ({
    path: [field],
    problem: `is for ${whose} only, and url leads to ${WORDS[kind!]}; leave it out`,
  }));
  if (kind === 'webhook' && subscriber.secret === null) {
    found.push({ path: ['secret'], problem: `is missing; expected ${signingSecret.expected}` });
  }
  if (kind === 'rabbitmq' && subscriber.exchange === undefined) {
    found.push({ path: ['exchange'], problem: 'is missing; expected the exchange that events are published to' });
  }
  const old = wrong.has('secret') || wrong.has('oldSecrets') ? null : oldSecretsProblem(subscriber);
  if (old !== null) found.push({ path: ['oldSecrets'], problem: old });
  const headers = headersProblem(textsOf(subscriber.headers));
  if (headers !== null) {
    found.push({ path: headers.name === null ? ['headers'] : ['headers', headers.name], problem: headers.problem });
  }
  if (kind === 'nats' && subscriber.credentials !== null && /:\/\/[^/]*@/.test(subscriber.url)) {
    found.push({
      path: ['credentials'],
      problem: 'is there while url holds a user or a token; NATS takes one login, leave one out',
    });
  }
  found.push(...certificateProblems(subscriber, wrong));
  return found;
}

/** All headers by name; of those whose values are wrong the names alone. */
function textsOf(headers: unknown): Record<string, string> {
  const isMapping = typeof headers === 'object' && headers !== null && !Array.isArray(headers);
  const entries = isMapping ? Object.entries(headers) : [];
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === 'string' ? value : '']));
}

/** Receivers look at every signature; more secrets at once are a mistake. */
const MOST_SECRETS = 5;

/** The problem of one subscriber's secrets together, without repeating a secret; null when there is none. */
export function oldSecretsProblem({ secret, oldSecrets }: Pick<CheckedSubscriber, 'secret' | 'oldSecrets'>): string | null {
  if (oldSecrets.length === 0) return null;
  if (secret === null) return 'is there while secret is missing; the newest belongs there';
  const all = [secret, ...oldSecrets];
  if (new Set(all).size < all.length)
    return 'holds the same secret twice (not shown): one of them was to be the new or the old one';
  return all.length > MOST_SECRETS ? `makes ${all.length} secrets; at most ${MOST_SECRETS} sign at once` : null;
}

const WITH_TLS = /^(?:https|tls|amqps):/;

function certificateProblems(
  { url, clientCertificate, clientKey }: CheckedSubscriber,
  wrong: ReadonlySet<unknown>,
): SubscriberProblem[] {
  if (clientCertificate === null && clientKey === null) return [];
  const ofKey = (problem: string): SubscriberProblem => ({ path: ['clientKey'], problem });
  const ofCertificate = (problem: string): SubscriberProblem => ({ path: ['clientCertificate'], problem });
  if (clientKey === null) return [ofKey('is missing while clientCertificate is set; set both or neither')];
  if (clientCertificate === null) return [ofCertificate('is missing while clientKey is set; set both or neither')];
  if (!wrong.has('url') && !WITH_TLS.test(url)) {
    const problem = `is shown with TLS only (https, tls, amqps), and url is ${/^[a-z]+/.exec(url)?.[0]}; correct one of them`;
    return [ofCertificate(problem)];
  }
  if (wrong.has('clientCertificate') || wrong.has('clientKey')) return [];
  const certificate = attempt(() => new X509Certificate(clientCertificate));
  const key = attempt(() => createPrivateKey(clientKey));
  const problems = [
    ...(certificate === null ? [ofCertificate('its value (not shown) cannot be read as a certificate in PEM')] : []),
    ...(key === null ? [ofKey('its value (not shown) cannot be read as a private key in PEM without a passphrase')] : []),
  ];
  if (problems.length > 0) return problems;
  if (!certificate!.checkPrivateKey(key!))
    return [ofKey('does not belong to clientCertificate: they are of different key pairs')];
  // As each connection will use them: what is too short for today's TLS, or a broken link of the chain, shows only here.
  if (attempt(() => createSecureContext({ cert: clientCertificate, key: clientKey })) === null) {
    const problem = 'is refused by TLS here (not shown): its key may be too short, or a certificate of its chain broken';
    return [ofCertificate(problem)];
  }
  return [];
}

function attempt<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}
