/** The shop's own system in the demo: takes webhooks as a merchant's would, and trusts only those with a good signature. */

import type { SystemEvent } from '../../domain/events/system-event-types.ts';
import type { Instant } from '../../domain/values/time.ts';
import { judge } from '../../receiver/genuine.ts';
import { listenForPosts, type PostListener, type Receive } from '../../receiver/posts.ts';

/** An event with its id and when it was seen (ISO 8601). */
export type ShopEvent = SystemEvent & { readonly id: string; readonly timestamp: string };

export interface Arrival {
  readonly event: ShopEvent;
  /** When the webhook came. */
  readonly at: Instant;
  /** Milliseconds from the poll that saw it to the shop. */
  readonly took: number;
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

/** Starts the shop; `onArrival` is called once for each event with a good signature, and `onForged` for every other request. */
export async function openShop({
  secret,
  onArrival,
  onForged,
}: {
  readonly secret: string;
  onArrival(arrival: Arrival): void;
  onForged(): void;
}) {
  // Webhooks come at least once: the id shows a repeat.
  const known = new Set<string>();
  const receive: Receive = (posted) => {
    const verdict = judge(posted, { secrets: [secret], publicKeys: [] });
    if (verdict.kind === 'refused') {
      onForged();
      return { status: 401, body: verdict.detail };
    }
    const event = verdict.event.body as unknown as ShopEvent;
    if (!known.has(event.id)) {
      known.add(event.id);
      onArrival({ event, at: posted.at, took: Math.max(0, posted.at - Date.parse(event.timestamp)) });
    }
    return { status: 200, body: 'ok' };
  };
  const { origin, port, close } = await listenForPosts(receive);
  let listener: Pick<PostListener, 'close'> | null = { close };
  return {
    origin,
    isOpen: () => listener !== null,
    /** Takes webhooks again, at the same address. */
    open: async (): Promise<void> => {
      listener ??= await listenForPosts(receive, { port });
    },
    /** Takes none any more. */
    close: async (): Promise<void> => {
      const open = listener;
      listener = null;
      await open?.close();
    },
  };
}
