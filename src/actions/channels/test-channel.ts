/** Shows that messages arrive in a channel for people, and how they look, by the way that real messages take. */

import { setTimeout as rest } from 'node:timers/promises';
import type { ExampleSize } from '../../channels/people/examples.ts';
import { peopleKind } from '../../channels/registry.ts';
import { channelSetting } from '../../config/channels.ts';
import type { ChannelSettings, Settings } from '../../config/settings.ts';

/** How it went with one channel. */
export interface TestedChannel {
  readonly ok: boolean;
  /** Messages that it took. */
  readonly messages: number;
  /** Why it took no more; null when it took all. */
  readonly detail: string | null;
}

/** Sends the messages of the channel's kind that are marked as a test, until one is refused. */
export async function testChannel(
  chosen: ChannelSettings,
  settings: Settings,
  size: ExampleSize = 'typical',
): Promise<TestedChannel> {
  const { open, examples } = peopleKind(chosen.kind);
  const { channel, spacing } = open(chosen, { setting: channelSetting(settings, chosen), settings });
  let messages = 0;
  try {
    for (const event of examples(Date.now(), size)) {
      if (messages > 0) await rest(spacing);
      const result = await channel.send(event, { attempt: 1, now: Date.now() });
      if (result.kind !== 'delivered') return { ok: false, messages, detail: result.detail };
      messages += 1;
    }
    return { ok: true, messages, detail: null };
  } finally {
    await channel.close();
  }
}
