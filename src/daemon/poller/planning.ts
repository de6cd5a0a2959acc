/** Chooses the next call to a site: a poll that is due, a probe in its place, or an extra call; or how long none may leave. */

import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Deps } from '../deps.ts';
import type { ExtraCalls } from './sites/extra-calls.ts';
import { needOf, type SiteCalls } from './sites/site-calls.ts';
import type { Entry } from './window/entries.ts';
import type { Window } from './window/window.ts';

/**
 * `extra`: an extra call has left. `skipped`: the purchase that was due is put off, because its shard is being given away.
 * `rest`: no call may leave for so long; infinite: until an answer, a load or a record wakes the poller.
 */
export type NextCall =
  | { readonly kind: 'poll'; readonly entry: Entry; readonly probe: boolean }
  | { readonly kind: 'extra' | 'skipped' }
  | { readonly kind: 'rest'; readonly wait: Milliseconds };

interface PlanContext extends Pick<Deps, 'ownership'> {
  readonly extraCalls: Pick<ExtraCalls, 'giveTurn'>;
  readonly now: Instant;
}

/** Pause while the lease is too short for a poll, or a shard is being given away. */
const RENEWAL_REST: Milliseconds = 250;
/** A purchase waits so long for others that are due soon: at leisure, waking the process costs more than a poll. */
const TOGETHER: Milliseconds = 25;
const UNTIL_WOKEN: NextCall = { kind: 'rest', wait: Number.POSITIVE_INFINITY };
const EXTRA: NextCall = { kind: 'extra' };
const SKIPPED: NextCall = { kind: 'skipped' };

/** The next call, with its place among the site's calls taken; a poll's entry is busy from now on. */
export function nextCall(calls: SiteCalls, window: Window, context: PlanContext): NextCall {
  const { extraCalls, now } = context;
  if (calls.inFlight >= calls.site.concurrency) return UNTIL_WOKEN;
  const dueAt = window.nextDue();
  // Extra calls go first, but never two in a row while a poll is due, so that neither starves.
  if (calls.turns.waiting > 0 && !(calls.wasExtra && dueAt !== null && dueAt <= now)) {
    const wait = extraCalls.giveTurn(calls);
    return wait > 0 ? { kind: 'rest', wait } : EXTRA;
  }
  if (dueAt === null) return UNTIL_WOKEN;
  return dueAt > now ? { kind: 'rest', wait: Math.max(dueAt - now, TOGETHER) } : nextPoll(calls, window, context);
}

function nextPoll(calls: SiteCalls, window: Window, { ownership, now }: PlanContext): NextCall {
  const need = needOf(calls.site);
  if (!ownership.outlasts(need)) return { kind: 'rest', wait: RENEWAL_REST };
  // While the site may be failing, a purchase that answered well lately is polled in place of the due one.
  const entry = window.takeOneOf(calls.probes(), ({ shard }) => ownership.mayBegin(shard, need)) ?? window.take(now)!;
  const { purchase, slot, dueAt } = entry;
  if (!ownership.mayBegin(purchase.shard, need)) {
    window.settle(entry, { purchase, dueAt: now + RENEWAL_REST, slot });
    return SKIPPED;
  }
  const { wait, probe } = calls.take(ownership.share());
  if (wait === 0) {
    window.nextTurn();
    return { kind: 'poll', entry, probe };
  }
  window.settle(entry, { purchase, dueAt, slot });
  return { kind: 'rest', wait };
}
