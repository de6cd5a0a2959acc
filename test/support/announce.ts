/** Events as the daemon writes them, though nothing happened. */
import type { EventDraft } from '../../src/domain/events/make-event.ts';
import type { Queries } from '../../src/postgres/connection/database.ts';
import { announcing, SITE_SHARD } from '../../src/postgres/events/events.ts';

interface Announced {
  readonly type?: EventDraft['type'];
  readonly data?: EventDraft['data'];
  /** A purchase's row, and the place of the event in its order. */
  readonly purchase?: number;
  readonly sequence?: number;
}

/** Writes an event, of a site unless a purchase is named, and answers its id. */
export async function announce(sql: Queries, event: Announced = {}): Promise<string> {
  const { type = 'site.reachable', data = {}, purchase = null, sequence = null } = event;
  const draft: EventDraft = { type, sequence, at: Date.now(), state: null, data: { site: 'default', ...data } };
  const [row] = await sql<{ id: string }[]>`
    with ${announcing(sql, [{ draft, site: 'default', purchase, shard: SITE_SHARD }], sql`true`)}
    select e.id from event e, (select count(*) from notified) t`;
  return row!.id;
}
