/** The shop's own system in the demo: takes webhooks as a merchant's would, and trusts only those with a good signature. */

import type { NamedState } from '../domain/purchases/states.ts';
import type { Decimal } from '../domain/values/exact-json.ts';
import { judge } from '../receiver/genuine.ts';
import { listenForPosts, type PostListener } from '../receiver/posts.ts';

/** What the demo reads of an event. */
export interface ShopEvent {
  readonly id: string;
  readonly type: string;
  /** ISO 8601: when it was seen. */
  readonly timestamp: string;
  readonly data: {
    /** Absent in a test of the subscriber. */
    readonly site?: string;
    readonly purchaseId?: string;
    readonly from?: NamedState | null;
    readonly to?: NamedState;
    readonly state?: NamedState | null;
    readonly stateSince?: string | null;
    readonly currency?: string | null;
    readonly invoice?: { readonly totalAmount: Decimal | number | null; readonly dueDate: string | null };
  };
}

export interface Arrival {
  readonly event: ShopEvent;
  /** Milliseconds from the poll that saw it to the shop. */
  readonly took: number;
}

/** Starts the shop; `onArrival` hears of each event once, when its signature is good, and `onForged` of every other request. */
export function openShop({
  secret,
  onArrival,
  onForged,
}: {
  readonly secret: string;
  onArrival(arrival: Arrival): void;
  onForged(): void;
}): Promise<PostListener> {
  // Webhooks come at least once: the id tells a repeat.
  const known = new Set<string>();
  return listenForPosts((posted) => {
    const verdict = judge(posted, { secrets: [secret], publicKeys: [] });
    if (verdict.kind === 'refused') {
      onForged();
      return { status: 401, body: verdict.detail };
    }
    const event = verdict.event.body as unknown as ShopEvent;
    if (!known.has(event.id)) {
      known.add(event.id);
      onArrival({ event, took: Math.max(0, posted.at - Date.parse(event.timestamp)) });
    }
    return { status: 200, body: 'ok' };
  });
}
