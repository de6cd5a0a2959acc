/** Opens subscribers' channels, and shows people which subscribers this replica cannot open. */

import type { Channel } from '../../../channels/outgoing/channel.ts';
import type { ConfiguredSubscriber, Opened } from '../../../channels/outgoing/channel-kind.ts';
import { openReach, unreadable } from '../../../channels/outgoing/sealed.ts';
import { openWebhook } from '../../../channels/webhook/open.ts';
import type { Settings } from '../../../config/settings.ts';
import { isUntried } from '../../../domain/deliveries/subscriber-health.ts';
import { AppError } from '../../../domain/values/errors.ts';
import { eraseUnreached, saveUntried } from '../../../postgres/deliveries/subscriber-health.ts';
import type { StoredSubscriber } from '../../../postgres/subscribers/subscribers.ts';
import type { Secrets } from '../../../runtime/secrets/secrets.ts';
import type { Deps } from '../../deps.ts';

/** An open channel and its address; `place` is null for subscribers of the settings, whose address does not change. */
export type Placed = Opened & { readonly addressHash: string; readonly place: string | null };

export interface OpenChannelsOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'> {
  readonly settings: Settings;
  readonly secrets: Secrets | null;
  readonly configured: readonly ConfiguredSubscriber[];
}

export function createOpenChannels(options: OpenChannelsOptions) {
  const { sql, clock, log, replica } = options;
  /** Subscribers whose channel could not be opened, with the reason. */
  const unopened = new Map<number, { readonly version: string; readonly detail: string }>();
  const closing = new Set<Promise<void>>();

  const noteOne = async ({ id, origin, status, unreached }: StoredSubscriber): Promise<void> => {
    const why = unopened.get(id);
    if (why === undefined) {
      if (isUntried(unreached)) await eraseUnreached(sql, id, replica, { untried: true });
    } else if (origin === 'api' && status === 'active' && !(isUntried(unreached) && unreached?.error === why.detail)) {
      await saveUntried(sql, id, { since: clock.now(), error: why.detail, replica });
    }
  };

  return {
    /** Opens the channel of a version of the subscriber's address and keys; null when that is not possible, which is logged once. */
    open: (row: StoredSubscriber, version: string): Placed | null => {
      const opened = tryToOpen(row, options);
      if ('channel' in opened) {
        unopened.delete(row.id);
        return opened;
      }
      const { detail } = opened;
      if (unopened.get(row.id)?.version !== version)
        log.error({ subscriber: row.name, detail: `${detail} What is for it waits.` }, 'subscriber.unreachable');
      unopened.set(row.id, { version, detail });
      return null;
    },
    /** Closes a channel after its attempts under way have ended. */
    close: (channel: Channel): void => {
      const closed = channel.close().catch((error: unknown) => log.warn({ error }, 'channel.not_closed'));
      closing.add(closed);
      void closed.finally(() => closing.delete(closed));
    },
    /** Resolves when all channels that were to be closed are closed. */
    closed: async (): Promise<void> => void (await Promise.all(closing)),
    /** Writes which API-made subscribers this replica cannot open, and erases that once it can. */
    noteUntried: async (rows: readonly StoredSubscriber[]): Promise<void> => {
      const known = new Set(rows.map(({ id }) => id));
      for (const id of [...unopened.keys()]) if (!known.has(id)) unopened.delete(id);
      for (const row of rows) await noteOne(row);
    },
  };
}

/** The channel, or why it cannot be opened: a subscriber without a channel must not keep the others from getting their deliveries. */
function tryToOpen(row: StoredSubscriber, options: OpenChannelsOptions): Placed | { detail: string } {
  try {
    return row.origin === 'api' ? openStored(row, options) : openConfigured(row, options);
  } catch (error) {
    if (error instanceof AppError) return { detail: `It cannot be called: ${error.message}.` };
    throw error;
  }
}

function openStored(row: StoredSubscriber, { secrets, settings }: OpenChannelsOptions): Placed | { detail: string } {
  const reach = openReach(secrets, row);
  if (reach !== null) return { ...openWebhook(reach, settings, 'api'), addressHash: row.addressHash, place: reach.url };
  return { detail: unreadable(secrets) };
}

function openConfigured(row: StoredSubscriber, { configured }: OpenChannelsOptions): Placed | { detail: string } {
  const found = configured.find(({ definition }) => definition.name === row.name);
  // A message to an old address of a channel for people may be lost, and a refusal by it says nothing about the new address.
  if (found !== undefined && row.audience === 'people' && found.definition.addressHash !== row.addressHash) {
    return { detail: 'Another daemon was started later with another address for it.' };
  }
  if (found !== undefined) return { ...found.open(), addressHash: found.definition.addressHash, place: null };
  return { detail: 'It is not in the configuration of this daemon.' };
}
