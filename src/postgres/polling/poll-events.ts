/** The events of a batch of polls, ready to be written. */

import type { PollOutcome } from '../../domain/deciding/outcome.ts';
import { draftOf } from '../../domain/events/make-event.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type EventRow, eventRow, type NewEvent, SITE_SHARD } from '../events/events.ts';

interface Decided {
  readonly outcome: PollOutcome;
  readonly now: Instant;
}

/** A statement with at least so many first sights belongs to a bulk load: the notifier sends changes of known purchases before these first sights. */
const BULK = 50;

const isFirstSight = ({ outcome }: Decided): boolean => outcome.transition !== null && outcome.transition.from === null;

function purchaseEvents({ outcome }: Decided, isBulk: boolean): NewEvent[] {
  const { id, site, shard } = outcome.purchase;
  return outcome.events.map((draft) => ({ draft, site, purchase: id, shard, isBulk }));
}

/** All events of the polls: those of their purchases, and those about states whose numbers are new. */
export function eventRowsOf(batch: readonly Decided[]): EventRow[] {
  const isBulk = batch.filter(isFirstSight).length >= BULK;
  const ofPurchases = batch.flatMap((decided) => purchaseEvents(decided, isBulk && isFirstSight(decided)));
  const oddities = batch.filter(({ outcome }) => outcome.unknownState !== null);
  return [...ofPurchases, ...unknownStateEvents(oddities)].map(eventRow);
}

/** One event for each new number of a site, whichever purchases of the batch show it. */
function unknownStateEvents(batch: readonly Decided[]): NewEvent[] {
  const firsts = new Map(batch.toReversed().map((d) => [`${d.outcome.purchase.site} ${d.outcome.unknownState}`, d]));
  return [...firsts.values()].map(({ outcome: { purchase, unknownState }, now }) => {
    const { site, purchaseId } = purchase;
    const state = unknownState ?? 0;
    const draft = draftOf('site.unknown_state', { at: now, state }, { site, state: namedState(state), purchaseId });
    return { draft, site, purchase: null, shard: SITE_SHARD };
  });
}
