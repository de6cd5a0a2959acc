/** The tables to which transactions append what has to be added to counters, and the folding of each. */

import type { Queries } from '../connection/database.ts';
import { onlyRow } from '../connection/rows.ts';
import { foldTransitionCounts } from '../polling/transition-counts.ts';
import { foldCounts } from '../reports/counts.ts';
import { foldDeliveryHours } from '../trends/delivery-hours.ts';
import { fillOutcomes, foldOutcomes } from '../trends/outcomes.ts';

/** One call takes this share at most of what it takes at once; more rows than that are a reason to go on soon. */
const MANY = 0.5;

const FOLDS = {
  counts: { fold: foldCounts, atOnce: 20_000 },
  transitions: { fold: foldTransitionCounts, atOnce: 20_000 },
  attempts: { fold: foldDeliveryHours, atOnce: 20_000 },
  outcomes: { fold: foldOutcomes, atOnce: 1_000 },
  fill: { fold: fillOutcomes, atOnce: 0 },
} as const;

/** Folds what was appended since the last call; answers whether there is more. One statement when there is nothing. */
export async function foldAppended(sql: Queries): Promise<boolean> {
  const waiting = await onlyRow(sql<Record<keyof typeof FOLDS, boolean>[]>`
    select exists (select from purchase_watch_internal.count_changes) as counts,
      exists (select from purchase_watch_internal.transition_count_changes) as transitions,
      exists (select from purchase_watch_internal.delivery_hour_changes) as attempts,
      exists (select from purchase_watch_internal.outcome_changes) or exists (select from purchase_watch_internal.outcomes_gone) as outcomes,
      (select filled_to is not null from purchase_watch_internal.outcome_folds) as fill`);
  let isMore = false;
  for (const [name, { fold, atOnce }] of Object.entries(FOLDS))
    if (waiting[name as keyof typeof FOLDS]) isMore = (await fold(sql)) > MANY * atOnce || isMore;
  return isMore;
}
