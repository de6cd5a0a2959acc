/** Kinds of channels for people whose messages a service shows. */

import type { ChannelSettings } from '../../config/settings.ts';
import { wayTo } from '../../config/ways.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { ServiceOptions } from '../http/service.ts';
import type { Channel } from '../outgoing/channel.ts';
import type { PeopleKindOf } from '../outgoing/channel-kind.ts';

/** For one post: connection, headers and body together. */
export const SERVICE_TIMEOUT: Milliseconds = 10_000;

/** A kind of which one message is sent at a time; `longestAttempt` where an attempt takes more than one post. */
export function serviceKind({
  create,
  spacing,
  longestAttempt = SERVICE_TIMEOUT,
  ...rest
}: Pick<PeopleKindOf<ChannelSettings>, 'examples' | 'ping'> & {
  readonly create: (options: ServiceOptions) => Channel;
  /** From one message to the next. */
  readonly spacing: Milliseconds;
  readonly longestAttempt?: Milliseconds;
}): PeopleKindOf<ChannelSettings> {
  return {
    ...rest,
    audience: 'people',
    longestAttempt,
    open: ({ webhookUrl: url, maxPerHour }, { setting, settings }) => ({
      channel: create({ url, setting, consoleUrl: settings.consoleUrl, timeout: SERVICE_TIMEOUT, way: wayTo(url, settings) }),
      concurrency: 1,
      spacing,
      timeout: longestAttempt,
      ...(maxPerHour !== null && { maxPerHour }),
    }),
  };
}
