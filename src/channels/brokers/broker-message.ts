/** An event as a message for a broker: the body with the same headers as a webhook, and an address made of the event's facts. */

import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { BodyFormat } from '../../postgres/subscribers/subscribers.ts';
import type { OutgoingEvent, SendOptions } from '../outgoing/channel.ts';
import { CLOUDEVENT_TYPE, toCloudEvent } from '../outgoing/cloudevent.ts';
import type { SigningKey } from '../outgoing/sealed.ts';
import { createAttemptSigner } from '../outgoing/signature.ts';
import type { CertificatePair } from './broker-address.ts';

/** The options of every channel to a broker. */
export interface BrokerOptions {
  /** The subscriber's. */
  readonly name: string;
  /** Several hosts, separated by commas, are servers of one cluster. */
  readonly url: string;
  /** Shown to a server that asks for it. */
  readonly clientCertificate?: CertificatePair | undefined;
  /** The stored body as it is, or a CloudEvent around the same data. */
  readonly format: BodyFormat;
  /** None: messages are not signed. */
  readonly keys: readonly SigningKey[];
  /** For one attempt: connecting, publishing and the confirmation. */
  readonly timeout: Milliseconds;
}

/** The facts of an event from which addresses are made. */
export interface EventFacts {
  readonly type: string;
  /** Null for an event of no site. */
  readonly site: string | null;
}

export type BrokerMessage = ReturnType<ReturnType<typeof createComposer>>;

/** Prepares making messages. Throws AppError `configuration` for a key that cannot sign. */
export function createComposer(
  { name, format, keys }: Pick<BrokerOptions, 'name' | 'format' | 'keys'>,
  address: (about: EventFacts) => string,
) {
  const sign = keys.length === 0 ? null : createAttemptSigner(keys);
  return ({ id, type, body }: OutgoingEvent, { now, again, trace }: Pick<SendOptions, 'now' | 'again' | 'trace'>) => {
    const { timestamp, data } = JSON.parse(body) as { timestamp: string; data: { site?: string } };
    const payload = format === 'cloudevents' ? toCloudEvent(body) : body;
    const signed = sign?.(id, now, payload);
    return {
      id,
      // By this the broker knows a repeat. Streams and exchanges may be shared, so it names the subscriber, too; and what a replay sends
      // again on purpose is no repeat.
      dedupId: again === undefined ? `${id}/${name}` : `${id}/${name}/${again}`,
      type,
      /** When the event was recorded. */
      at: Date.parse(timestamp),
      /** The subject or routing key. */
      address: address({ type, site: data.site ?? null }),
      contentType: format === 'cloudevents' ? CLOUDEVENT_TYPE : 'application/json',
      headers: {
        'webhook-id': id,
        ...(trace && { traceparent: trace.traceparent }),
        ...(signed && { 'webhook-timestamp': signed.timestamp, 'webhook-signature': signed.signature }),
      } as Readonly<Record<string, string>>,
      body: Buffer.from(payload),
    };
  };
}

/** An address of the longest parts must be valid, too. */
const LONGEST: EventFacts = { type: 'purchase.state_changed', site: 's'.repeat(63) };

/**
 * Prepares addresses from a template with `{type}` and `{site}`. The dots of a type part it into tokens; what else is
 * not a letter, digit, `_` or `-` becomes `_`, as does a site that an event does not have. Throws AppError
 * `configuration` when the template asks for something else, or what it makes can never be an address: `setting` is the name of the
 * setting, `pattern` what an address must look like, `expected` the same in words.
 */
export function readAddress(
  template: string,
  { setting, pattern, expected }: { readonly setting: string; readonly pattern: RegExp; readonly expected: string },
): (about: EventFacts) => string {
  const strange = template.replaceAll(/\{(?:type|site)\}/g, '').match(/\{[^}]*\}?|\}/)?.[0];
  if (strange !== undefined) {
    throw new AppError('configuration', `${setting} "${template}" contains ${strange}; it may contain {type} and {site}`);
  }
  const render = ({ type, site }: EventFacts): string =>
    template.replaceAll('{type}', type.split('.').map(token).join('.')).replaceAll('{site}', token(site ?? ''));
  if (!pattern.test(render(LONGEST))) {
    throw new AppError('configuration', `${setting} "${template}" makes no valid address; expected ${expected}`);
  }
  return render;
}

function token(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/g, '_') || '_';
}
