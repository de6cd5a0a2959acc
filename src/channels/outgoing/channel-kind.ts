/** A kind of channel: for whom, how one is opened, and how it shows that it works. Every kind is in `channels/registry.ts`. */

import type { ChannelSettings, Settings } from '../../config/settings.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Way } from '../../domain/values/way.ts';
import type { SubscriberDefinition } from '../../postgres/subscribers/subscribers.ts';
import type { Channel, OutgoingEvent } from './channel.ts';

/** A channel that is open, and how it may be used. */
export interface Opened {
  readonly channel: Channel;
  /** Deliveries in flight at most. */
  readonly concurrency: number;
  /** From one delivery to the next; Slack wants a second. */
  readonly spacing: Milliseconds;
  /** One attempt, headers and body. */
  readonly timeout: Milliseconds;
  /** A digest of the addresses that are not public and may be called; of webhooks. */
  readonly allowed?: string;
  /** Messages within an hour, at most; without it there is no such limit. */
  readonly maxPerHour?: number;
}

/** A subscriber that the settings name, with what opens its channel. */
export interface ConfiguredSubscriber {
  readonly definition: SubscriberDefinition;
  /** Whether the channel shows what is wrong at present, so that open incidents are repeated to it. */
  readonly showsPresent?: boolean;
  open(): Opened;
}

/** Systems get the events of purchases that their subscriber wants. */
export interface SystemsKind<Subscriber> {
  readonly audience: 'systems';
  open(subscriber: Subscriber, settings: Settings): Opened;
}

/** People are alerted of incidents. The sections of the settings file and the names of these kinds are in `config/kinds/people-kinds.ts`. */
export interface PeopleKindOf<Named = ChannelSettings> {
  readonly audience: 'people';
  /** The longest that one attempt may take. */
  readonly longestAttempt: Milliseconds;
  /** `setting` is where its address is set, for the message to the person who must set another one. */
  open(channel: Named, means: { readonly setting: string; readonly settings: Settings }): Opened;
  /** Messages to see there, marked as a test. */
  examples(now: Instant, size: 'typical' | 'longest'): OutgoingEvent[];
  /** Finds out whether it is alive and shows nothing there; missing where that cannot be known. */
  readonly ping?: PingedKind;
}

export interface PingedKind {
  readonly within: Milliseconds;
  /** Where this machine must be able to call. */
  readonly host: string;
  ask(url: string, timeout: Milliseconds, way: Way): Promise<Ping>;
}

export type Ping =
  | { readonly kind: 'alive'; readonly tookMs: Milliseconds }
  | { readonly kind: 'dead' | 'unclear' | 'silent'; readonly detail: string };
