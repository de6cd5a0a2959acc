/**
 * Calls beside the queue: the invoice that a poll has to ask for, and what people ask through the API. They get their turn
 * ahead of due polls, count among the site's calls a second and in flight, and are not made while the site fails.
 */

import { type InvoiceReply, noInvoice } from '../../../checkout/invoice-details.ts';
import { type InvoiceSeen, observationOf } from '../../../domain/deciding/invoice-seen.ts';
import type { Observation } from '../../../domain/purchases/purchase.ts';
import type { Milliseconds } from '../../../domain/values/time.ts';
import type { RequestTrace } from '../../../runtime/traces/traces.ts';
import type { Deps } from '../../deps.ts';
import { needOf, type PolledSite, type SiteCalls } from './site-calls.ts';

interface ExtraCallsOptions extends Pick<Deps, 'ownership'> {
  readonly siteCalls: ReadonlyMap<string, SiteCalls>;
  /** Wakes the poller when a call waits for its turn or has ended: more calls may start. */
  wake(): void;
}

/** A purchase whose invoice is asked for. */
export interface InvoiceOf {
  readonly id: number;
  readonly site: string;
  readonly purchaseId: string;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

export type ExtraCalls = ReturnType<typeof createExtraCalls>;

/** How long a call waits for its turn; a replica without shards has no part of the site's calls. */
const TURN_WITHIN: Milliseconds = 1_000;
/** Pause while the lease is too short for a call; the next renewal extends it. */
const UNTIL_RENEWED: Milliseconds = 250;

export function createExtraCalls({ siteCalls, ownership, wake }: ExtraCallsOptions) {
  let busy = 0;
  let stopped = false;

  /** Makes one call in its turn; null when its turn did not come. */
  const inTurn = async <A>(
    calls: SiteCalls,
    { id, signal, may = () => true }: { id: number; signal?: AbortSignal; may?: () => boolean },
    { ask, seenIn }: { ask(site: PolledSite): Promise<A>; seenIn(answer: A): Observation },
  ): Promise<A | null> => {
    if (stopped || calls.restsFor() > 0) return null;
    busy += 1;
    try {
      const turn = calls.turns.wait({ patience: calls.site.timeout, signal });
      wake();
      if (!(await turn)) return null;
      let answer: A;
      try {
        if (!may()) return null;
        answer = await ask(calls.site);
      } finally {
        calls.end();
      }
      calls.answered(seenIn(answer), { purchase: id, probe: false });
      return answer;
    } finally {
      busy -= 1;
      wake();
    }
  };

  const refused = (calls: SiteCalls): InvoiceReply =>
    calls.restsFor() > 0 ? { kind: 'resting', retryAfter: calls.restsFor() } : { kind: 'busy', retryAfter: TURN_WITHIN };

  return {
    /** Extra calls that wait or are under way. */
    busy: (): number => busy,
    /** The invoice of a purchase in this replica's shards; null when there was no turn, or no time left in the lease. */
    pollInvoice: (
      calls: SiteCalls,
      { id, purchaseId, shard }: { readonly id: number; readonly purchaseId: string; readonly shard: number },
      trace?: RequestTrace,
    ): Promise<InvoiceSeen | null> =>
      inTurn(
        calls,
        // The shard may have been lost while the call waited.
        { id, may: () => ownership.mayBegin(shard, needOf(calls.site)) },
        { ask: (site) => site.pollInvoice(purchaseId, trace), seenIn: observationOf },
      ),
    /** The whole invoice, for a caller of the API or a command. Never rejects. */
    invoiceOf: async ({ id, site: name, purchaseId, signal }: InvoiceOf): Promise<InvoiceReply> => {
      const calls = siteCalls.get(name);
      if (calls === undefined) return { kind: 'unconfigured', retryAfter: 0 };
      if (ownership.share() === 0) return { kind: 'busy', retryAfter: TURN_WITHIN };
      const answer = await inTurn(
        calls,
        { id, signal },
        {
          ask: (site) => site.invoice(purchaseId),
          seenIn: (reply) => ('reason' in reply ? reply : { kind: 'same' }),
        },
      );
      if (answer === null) return refused(calls);
      if (answer.kind !== 'unknown') return answer;
      // The service's answer without an invoice is not shown; the purchase's status explains why there is none.
      const status = await inTurn(
        calls,
        { id, signal },
        { ask: (site) => site.pollStatus(purchaseId, null), seenIn: (seen) => seen },
      );
      if (status === null || status.kind === 'same') return refused(calls);
      return status.kind === 'seen' ? noInvoice(status.state) : status;
    },
    /** Starts the first waiting call if the site's ceiling allows; answers how long until it does. */
    giveTurn: (calls: SiteCalls): Milliseconds => {
      if (calls.restsFor() > 0) {
        calls.turns.dismiss();
        return 0;
      }
      if (!ownership.outlasts(needOf(calls.site))) return UNTIL_RENEWED;
      const { wait } = calls.take(ownership.share());
      if (wait > 0) return wait;
      calls.begin(true);
      calls.turns.next();
      return 0;
    },
    /** Rejects all waiting calls and refuses new ones. */
    stop: (): void => {
      stopped = true;
      for (const calls of siteCalls.values()) calls.turns.dismiss();
    },
  };
}
