/** The NATS channel: each event is published to JetStream, and delivered when a stream has confirmed that it keeps it. */

import { isSeed } from '../../config/kinds/subscriber-kinds.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { excerpt } from '../http/excerpt.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import type { Channel } from '../outgoing/channel.ts';
import { BrokerFailure, type BrokerLink, connectionLost, createBrokerChannel, noBroker, takingTurns } from './broker.ts';
import { type CertificatePair, readBrokerAddress } from './broker-address.ts';
import { type BrokerMessage, type BrokerOptions, createComposer, readAddress } from './broker-message.ts';

/**
 * The address is `nats://` or, with TLS required, `tls://`, with `user:password@` or `token@` before the host when the server wants them.
 */
export interface NatsOptions extends BrokerOptions {
  /** The content of a .creds file, or the seed of a user NKEY. */
  readonly credentials?: string | undefined;
  /** Where events are published, with `{type}` and `{site}`. */
  readonly subject: string;
}

type Library = typeof import('./nats-connection.ts');

const SUBJECT = {
  setting: 'subject',
  pattern: /^(?!\$)[^\s\p{Cc}.*>]+(?:\.[^\s\p{Cc}.*>]+)*$/u,
  expected: 'names between dots, without spaces, * and >, that do not begin with $',
};
/** Without traffic, a dead connection is noticed after three of these. */
const PING_INTERVAL: Milliseconds = 20_000;
/** The deadline of an attempt is ours; the library's own is only to clean up. */
const GRACE: Milliseconds = 1_000;

/**
 * A channel to one server or cluster, with one connection that is made at the first event. Throws AppError
 * `configuration` for an address, a subject or a key that could never work.
 */
export function createNatsChannel(options: NatsOptions): Channel {
  const { url, credentials, clientCertificate, subject, timeout } = options;
  const compose = createComposer(options, readAddress(subject, SUBJECT));
  const openOne = async (server: ReturnType<typeof readServers>[number], signal: AbortSignal): Promise<BrokerLink> => {
    const library = await import('./nats-connection.ts');
    const login = credentials === undefined ? {} : { authenticator: library.authenticatorOf(credentials, isSeed(credentials)) };
    const connecting = { ...server, ...login, timeout, pingInterval: PING_INTERVAL, name: 'purchase-watch' };
    return await openLink(library, connecting, signal);
  };
  return createBrokerChannel(takingTurns(readServers(url, clientCertificate), timeout, openOne), compose, timeout);
}

function readServers(text: string, pair: CertificatePair | undefined) {
  const example = 'nats://user:password@nats.example:4222, or tls://…';
  const addresses = readBrokerAddress(text, { broker: 'NATS', protocols: ['nats:', 'tls:'], example });
  return addresses.map(({ protocol, hostname, port, user, password }) => ({
    servers: `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port ?? 4222}`,
    ...(protocol === 'tls:' && { tls: pair === undefined ? {} : { cert: pair.certificate, key: pair.key } }),
    // The convention of NATS: one word alone is a token.
    ...(password === '' ? user !== '' && { token: user } : { user, pass: password }),
  }));
}

async function openLink(
  library: Library,
  options: Parameters<Library['connectToNats']>[0],
  signal: AbortSignal,
): Promise<BrokerLink> {
  const connection = await library.connectToNats(options, signal).catch((error: unknown) => {
    throw connectFailure(error, library);
  });
  const client = library.jetstream(connection);
  return {
    publish: async ({ dedupId, address, contentType, headers, body }: BrokerMessage, within: Milliseconds) => {
      const carried = library.headers();
      carried.set('content-type', contentType);
      for (const [name, value] of Object.entries(headers)) carried.set(name, value);
      try {
        const { stream, seq, duplicate } = await client.publish(address, body, {
          msgID: dedupId,
          headers: carried,
          timeout: within + GRACE,
        });
        return excerpt(`stream ${stream}, sequence ${seq}${duplicate ? ', it was there already' : ''}`);
      } catch (error) {
        throw publishFailure(error, { library, address, hasJetStream: connection.info?.jetstream === true });
      }
    },
    ended: connection.closed().then(() => undefined),
    heldBack: () => null,
    close: () => connection.close(),
  };
}

function connectFailure(error: unknown, { errors }: Library): unknown {
  if (error instanceof errors.AuthorizationError || error instanceof errors.UserAuthenticationExpiredError) {
    const detail = 'NATS refused the credentials, or wants some.';
    return new BrokerFailure({ reason: 'login_refused', detail, fault: 'receiver' }, error);
  }
  if (
    error instanceof errors.InvalidArgumentError ||
    (error instanceof errors.ConnectionError && /\btls\b/i.test(error.message))
  ) {
    const detail = 'NATS does not offer TLS, and the address (tls://) requires it.';
    return new BrokerFailure({ reason: 'tls', detail, fault: 'receiver' }, error);
  }
  const { reason } = networkFailureOf(error);
  return reason === 'unexpected' ? noBroker('NATS', error) : error;
}

function publishFailure(
  error: unknown,
  { library, address, hasJetStream }: { readonly library: Library; readonly address: string; readonly hasJetStream: boolean },
): BrokerFailure {
  const { errors, JetStreamApiError } = library;
  const refused = (reason: string, detail: string): BrokerFailure =>
    new BrokerFailure({ reason, detail, fault: 'receiver' }, error);
  const reasons = [error, error instanceof Error ? error.cause : undefined];
  if (reasons.some((each) => each instanceof errors.PermissionViolationError)) {
    return refused('not_permitted', `NATS does not permit this user to publish to ${address}, or to receive the confirmation.`);
  }
  if (reasons.some((each) => each instanceof errors.RequestError && each.isNoResponders())) {
    return hasJetStream
      ? refused(
          'no_stream',
          `No stream takes the subject ${address}, in the account of this user; make one: nats stream add PURCHASES --subjects '${wildcard(address)}'`,
        )
      : refused('no_jetstream', 'JetStream is not switched on at this NATS server; start it with --jetstream.');
  }
  if (error instanceof JetStreamApiError) {
    return refused('refused', `The stream did not take the event: ${excerpt(error.message)} (${error.code}).`);
  }
  if (error instanceof errors.InvalidArgumentError) {
    return refused('too_large', 'The event is larger than this NATS server takes (max_payload).');
  }
  if (error instanceof SyntaxError) {
    return refused('bad_answer', `Something that is no stream answers on the subject ${address}.`);
  }
  return connectionLost(error);
}

/** The wildcard to which a stream has to listen for this subject and its like. */
function wildcard(subject: string): string {
  const dot = subject.indexOf('.');
  return dot < 0 ? subject : `${subject.slice(0, dot)}.>`;
}
