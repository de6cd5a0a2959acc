/** Calls of this replica to one site: the ceiling, the breaker, and the reports when the site fails or answers again. */

import type { InvoiceAnswer } from '../../../checkout/invoice-details.ts';
import type { InvoiceSeen } from '../../../domain/deciding/invoice-seen.ts';
import { afterAnswer, allowance, type Breaker, isUsable, probeSent } from '../../../domain/polling/breaker.ts';
import type { AskedPurchase } from '../../../domain/polling/reach.ts';
import { isSiteDoubtful, newSiteAnswers } from '../../../domain/polling/site-answers.ts';
import type { BreakerNow, TokenTimes } from '../../../domain/polling/site-calls.ts';
import type { Observation } from '../../../domain/purchases/purchase.ts';
import type { Milliseconds } from '../../../domain/values/time.ts';
import type { RequestTrace } from '../../../runtime/traces/traces.ts';
import type { Deps } from '../../deps.ts';
import { createBudget } from './budget.ts';
import { createKnownBreaker } from './known-breaker.ts';
import { createSiteReach } from './site-reach.ts';
import { createTurns } from './turns.ts';

/** The limits and calls of a site that the poller needs. */
export interface PolledSite {
  readonly name: string;
  /** Calls a second over all replicas together. */
  readonly maxRps: number;
  /** Calls in flight of this replica. */
  readonly concurrency: number;
  readonly timeout: Milliseconds;
  /** Whether the invoice of what completes is asked for. */
  readonly invoices: boolean;
  /** Never rejects. `known`: the digest of the last good answer about this purchase, or null. */
  pollStatus(purchaseId: string, known: string | null, trace?: RequestTrace): Promise<Observation>;
  /** One call each, which never rejects: what may be kept and sent of an invoice, and all of it. */
  pollInvoice(purchaseId: string, trace?: RequestTrace): Promise<InvoiceSeen>;
  invoice(purchaseId: string): Promise<InvoiceAnswer>;
  /** When the access token was fetched, ends and was refused; null where the site's calls need none. */
  token(): TokenTimes | null;
}

/** Which call an answer is to; `asked` is set when it asked for a purchase's status. */
export interface AnsweredCall {
  readonly purchase: number;
  readonly probe: boolean;
  readonly asked?: AskedPurchase | null;
}

export type SiteCalls = ReturnType<typeof createSiteCalls>;

interface SiteCallsOptions extends Pick<Deps, 'sql' | 'clock' | 'log' | 'replica' | 'spread'> {
  /** Called after it was written that the site fails, or answers again. */
  onReported(): void;
}

const NONE: readonly number[] = [];
/** A poll (a token and a call, each within the time-out) and its recording must end before the lease does. */
const TIME_TO_RECORD: Milliseconds = 2_000;
/** When no purchase was there to probe for so long, a later failure counts as a new one. */
const NOTHING_TO_ASK: Milliseconds = 10 * 60_000;

export function createSiteCalls(site: PolledSite, { sql, clock, log, replica, spread, onReported }: SiteCallsOptions) {
  const budget = createBudget(clock.monotonic);
  const known = createKnownBreaker(clock);
  const answers = newSiteAnswers();
  const reach = createSiteReach(site.name, { sql, clock, log, replica, onReported });

  let calls = 0;
  let inFlight = 0;
  let wasExtra = false;

  return {
    site,
    get inFlight() {
      return inFlight;
    },
    /** Extra calls that wait for their turn. */
    turns: createTurns(),
    /** Whether the last call that left was an extra call. */
    get wasExtra() {
      return wasExtra;
    },
    /** A call leaves, and ends. */
    begin: (isExtra: boolean): void => {
      calls += 1;
      inFlight += 1;
      wasExtra = isExtra;
    },
    end: (): void => {
      inFlight -= 1;
    },
    /**
     * How long until a call may leave; 0 takes one, infinite waits for an answer. `share` is this replica's part of the ceiling.
     * `probe`: the call stands in for all others, and its answer decides.
     */
    take: (share: number): { readonly wait: Milliseconds; readonly probe: boolean } => {
      const now = clock.monotonic();
      const allowed = allowance(known.get(), now);
      if (allowed.kind === 'none')
        return { wait: allowed.until === null ? Number.POSITIVE_INFINITY : allowed.until - now, probe: false };
      const wait = budget.take((allowed.kind === 'limited' ? Math.min(site.maxRps, allowed.rate) : site.maxRps) * share);
      const probe = wait === 0 && allowed.kind === 'probe';
      if (probe) known.set(probeSent(known.get()));
      return { wait, probe };
    },
    /**
     * Purchases that answered well lately, the latest first: to poll as probes, and while failures may be the site's or those
     * of single purchases. Otherwise none.
     */
    probes: (): readonly number[] => {
      const breaker = known.get();
      const isWanted = breaker.kind === 'open' ? breaker.probeAt <= clock.monotonic() : isSiteDoubtful(answers);
      return isWanted ? [...answers.well.keys()].reverse() : NONE;
    },
    /** Learns from an answer, and writes when the site fails or answers again. */
    answered: (seen: Observation, { purchase, probe, asked = null }: AnsweredCall): void => {
      const before = known.get();
      const taken = reach.answered(seen, asked);
      const breaker = afterAnswer(before, taken, {
        now: clock.monotonic(),
        ceiling: site.maxRps,
        spread: spread(),
        purchase,
        probe,
        awaited: inFlight,
        answers,
      });
      known.set(breaker);
      if (isUsable(taken)) {
        if (isCertain(before) && breaker.kind !== 'open') log.info({ site: site.name }, 'site.answers');
      } else if (isCertain(breaker) && breaker !== before) {
        const { reason, detail } = taken;
        if (!isCertain(before))
          log.warn({ site: site.name, reason, detail }, breaker.cause === 'throttled' ? 'site.throttled' : 'site.failing');
        if (breaker.cause === 'failing' && taken === seen) reach.fails(taken.kind, detail);
      }
      reach.report(inFlight);
    },
    /** Whether failures are the whole site's: they then do not count against purchases. */
    fails: (): boolean => known.get().kind !== 'closed',
    /** Whether no purchase of the site can be read, also for nonsense and unknown ids: no failure is then a purchase's own. */
    excuses: reach.excuses,
    /** Decides what time alone decides: a site without an answer for long is blind, a site that was read for long enough is well. */
    look: (): void => {
      const breaker = known.get();
      if (breaker.kind === 'open' && !breaker.probing && clock.monotonic() - breaker.probeAt >= NOTHING_TO_ASK) reach.rest();
      reach.look(inFlight);
    },
    /** How long only probes may leave, as far as that is known; 0: all calls may. */
    restsFor: (): Milliseconds => {
      const breaker = known.get();
      return breaker.kind === 'open' ? Math.max(breaker.probeAt - clock.monotonic(), 1) : 0;
    },
    /** Another database answers than before: what the last one knew of the site is read again. */
    forget: reach.forget,
    /** The breaker, and how many calls have left since the process began. */
    seen: (): BreakerNow & { readonly calls: number } => ({ ...known.now(), calls }),
  };
}

/** Whether only probes leave, and no earlier call is under way whose answer could show that the site answers. */
function isCertain(breaker: Breaker): breaker is Extract<Breaker, { kind: 'open' }> {
  return breaker.kind === 'open' && breaker.unless === null;
}

/** How long a call to a site, and the recording of its answer, may take. */
export function needOf({ timeout }: PolledSite): Milliseconds {
  return 2 * timeout + TIME_TO_RECORD;
}
