/** Webhooks that are put into a queue at once. */
import { EVENT_BODY } from '../../outbox.ts';
import type { ShopEvent } from './http.ts';

const AT_ONCE = 5_000;
let number = 0;

/** Adds so many events in pieces. */
export async function filled(count: number, add: (events: ShopEvent[]) => Promise<unknown>): Promise<void> {
  for (let left = count; left > 0; left -= AT_ONCE) {
    const events = Array.from({ length: Math.min(left, AT_ONCE) }, () => ({ id: `evt_${++number}`, body: EVENT_BODY }));
    await add(events);
  }
}
