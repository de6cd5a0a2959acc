/** Shows that messages arrive in a channel for people, and how they look, by the way that real messages take. */

import type { ExampleSize } from '../../channels/people/examples.ts';
import { peopleKind } from '../../channels/registry.ts';
import { channelSetting } from '../../config/channels.ts';
import type { ChannelSettings, Settings } from '../../config/settings.ts';
import { delay, wall } from '../../runtime/time.ts';

/**
 * Sends the messages of the channel's kind that are marked as a test, until one is refused; `detail` says why the channel took no more
 * than these, null when it took all.
 */
export async function testChannel(chosen: ChannelSettings, settings: Settings, size: ExampleSize = 'typical') {
  const { open, examples } = peopleKind(chosen.kind);
  const { channel, spacing } = open(chosen, { setting: channelSetting(settings, chosen), settings });
  let messages = 0;
  try {
    for (const event of examples(wall(), size)) {
      if (messages > 0) await delay(spacing);
      const result = await channel.send(event, { attempt: 1, now: wall() });
      if (result.kind !== 'delivered') return { ok: false, messages, detail: result.detail };
      messages += 1;
    }
    return { ok: true, messages, detail: null };
  } finally {
    await channel.close();
  }
}

export type TestedChannel = Awaited<ReturnType<typeof testChannel>>;
