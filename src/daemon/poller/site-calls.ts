/** One site as this replica asks it: how many calls may leave, whether the site answers, and who hears when it does not. */

import type { InvoiceAnswer } from '../../checkout/invoice-details.ts';
import type { InvoiceSeen } from '../../domain/deciding/invoice.ts';
import { afterAnswer, allowance, type Breaker, CLOSED, isUsable, probeSent } from '../../domain/polling/breaker.ts';
import type { Asked } from '../../domain/polling/reach.ts';
import { isSiteDoubtful, newSiteAnswers } from '../../domain/polling/site-answers.ts';
import type { Observation } from '../../domain/purchases/purchase.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createBudget } from './budget.ts';
import { createSiteReach } from './site-reach.ts';
import { createTurns, type Turns } from './turns.ts';

/** What the poller needs of a site. */
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
  pollStatus(purchaseId: string, known: string | null): Promise<Observation>;
  /** One call each, which never rejects: what may be kept and sent of an invoice, and all of it. */
  pollInvoice(purchaseId: string): Promise<InvoiceSeen>;
  invoice(purchaseId: string): Promise<InvoiceAnswer>;
}

/** Which call an answer is to; `asked` is set when it asked for a purchase's status. */
export interface AnsweredCall {
  readonly purchase: number;
  readonly probe: boolean;
  readonly asked?: Asked;
}

export interface SiteCalls {
  readonly site: PolledSite;
  inFlight: number;
  /** Calls beside the queue that wait for a place among the site's, and whether the last place was one of theirs. */
  readonly turns: Turns;
  turnGiven: boolean;
  /**
   * How long until a call may leave; 0 takes one, infinite waits for an answer. `share` is our part of the ceiling.
   * `probe`: the call stands in for all others, and its answer decides.
   */
  take(share: number): { readonly wait: Milliseconds; readonly probe: boolean };
  /**
   * Purchases that answered well lately, the latest first, when asking about one of these says most: for a probe, and while
   * failures may be the site's or single purchases'. Otherwise none.
   */
  probes(): readonly number[];
  /** Learns from an answer, and tells the database when the site fails or is back. */
  answered(seen: Observation, call: AnsweredCall): void;
  /** Whether failures are the whole site's: then none is held against a purchase. */
  fails(): boolean;
  /** Whether no purchase of the site can be read, nonsense and unknown ids included: no failure is a purchase's own. */
  excuses(): boolean;
  /** Time has passed: a site that rests for long may be blind by now, and one that is read for long enough is well. */
  look(): void;
  /** While nothing but a probe may leave: how long, as far as it is known; otherwise 0. */
  restsFor(): Milliseconds;
}

export interface SiteCallsOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Logger;
  /** Which replica asks: each notes for itself whether it reads the site. */
  readonly replica: string;
  /** Jitter in [-1, 1]. */
  spread(): number;
  /** The database knows that the site fails, or that it is back. */
  onReported(): void;
}

const NONE: readonly number[] = [];
/** A probe that finds nothing to ask about for so long: what fails afterwards is another failure. */
const NOTHING_TO_ASK: Milliseconds = 10 * 60_000;

export function createSiteCalls(site: PolledSite, { sql, clock, log, replica, spread, onReported }: SiteCallsOptions): SiteCalls {
  const budget = createBudget(clock.monotonic);
  let breaker: Breaker = CLOSED;
  const answers = newSiteAnswers();
  const reach = createSiteReach(site.name, { sql, clock, log, replica, onReported });

  const calls: SiteCalls = {
    site,
    inFlight: 0,
    turns: createTurns(),
    turnGiven: false,
    take: (share) => {
      const now = clock.monotonic();
      const allowed = allowance(breaker, now);
      if (allowed.kind === 'none')
        return { wait: allowed.until === null ? Number.POSITIVE_INFINITY : allowed.until - now, probe: false };
      const wait = budget.take((allowed.kind === 'limited' ? Math.min(site.maxRps, allowed.rate) : site.maxRps) * share);
      const probe = wait === 0 && allowed.kind === 'probe';
      if (probe) breaker = probeSent(breaker);
      return { wait, probe };
    },
    probes: () => {
      const isWanted = breaker.kind === 'open' ? breaker.probeAt <= clock.monotonic() : isSiteDoubtful(answers);
      return isWanted ? [...answers.well.keys()].reverse() : NONE;
    },
    answered: (seen, { purchase, probe, asked = null }) => {
      const before = breaker;
      const taken = reach.answered(seen, asked);
      const context = {
        now: clock.monotonic(),
        ceiling: site.maxRps,
        spread: spread(),
        purchase,
        probe,
        awaited: calls.inFlight,
      };
      breaker = afterAnswer(before, taken, { ...context, answers });
      if (isUsable(taken)) {
        if (isCertain(before) && breaker.kind !== 'open') log.info({ site: site.name }, 'site.answers');
      } else if (isCertain(breaker) && breaker !== before) {
        const { reason, detail } = taken;
        if (!isCertain(before))
          log.warn({ site: site.name, reason, detail }, breaker.cause === 'throttled' ? 'site.throttled' : 'site.failing');
        if (breaker.cause === 'failing' && taken === seen) reach.fails(taken.kind, detail);
      }
      reach.report(calls.inFlight);
    },
    fails: () => breaker.kind !== 'closed',
    excuses: reach.excuses,
    look: () => {
      if (breaker.kind === 'open' && !breaker.probing && clock.monotonic() - breaker.probeAt >= NOTHING_TO_ASK) reach.rest();
      reach.look(calls.inFlight);
    },
    restsFor: () => (breaker.kind === 'open' ? Math.max(breaker.probeAt - clock.monotonic(), 1) : 0),
  };
  return calls;
}

/** Whether nothing but probes leaves, and no call that left before can show any more that the site answers. */
function isCertain(breaker: Breaker): breaker is Extract<Breaker, { kind: 'open' }> {
  return breaker.kind === 'open' && breaker.unless === null;
}
