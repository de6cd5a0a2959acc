/** Notes purchases that cannot be read any more, for alerts to people. */

import type { PollOutcome } from '../../domain/deciding/outcome.ts';
import type { Instant } from '../../domain/values/time.ts';
import { columns } from '../connection/columns.ts';
import type { Queries } from '../connection/database.ts';

/** The part of a statement that writes purchases that cannot be read any more, for alerts one by one; of those in `written`. The judge drops those that no channel for people wants. */
export const notingUnreadable = (
  sql: Queries,
  batch: readonly { readonly outcome: Pick<PollOutcome, 'purchase' | 'reason'>; readonly now: Instant }[],
) => sql`
    insert into purchase_watch_internal.stuck_alerts (purchase, site, state, state_since, stuck_at, first_sight, unreadable)
    select p.id, p.site, coalesce(r.state, 0), r.now, r.now, false, r.reason
    from ${columns(sql, batch, 'r', {
      id: ['bigint', (d) => d.outcome.purchase.id],
      state: ['integer', (d) => d.outcome.purchase.state],
      now: ['timestamptz', (d) => d.now],
      reason: ['text', (d) => d.outcome.reason],
    })}
    join written using (id)
    join purchase_watch.purchases p on p.id = r.id
    on conflict do nothing`;
