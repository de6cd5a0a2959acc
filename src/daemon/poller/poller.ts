/** Polls due purchases, decides, and hands the outcomes to the recorder. */

import type { InvoiceReply } from '../../checkout/invoice-details.ts';
import { decide } from '../../domain/deciding/decide.ts';
import { asksForInvoice, type InvoiceSeen, observationOf } from '../../domain/deciding/invoice.ts';
import { type PollPolicy, strikesAfter } from '../../domain/polling/poll-plan.ts';
import { notAhead } from '../../domain/purchases/clock-back.ts';
import type { Observation } from '../../domain/purchases/purchase.ts';
import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { SkippedTime } from '../../domain/values/skipped-time.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { Clock, FollowingClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import { createAlarm } from '../../runtime/loops/alarm.ts';
import type { Writes } from '../../runtime/loops/health.ts';
import { createIdle } from '../../runtime/loops/idle.ts';
import type { Meters } from '../../runtime/meters.ts';
import { createAfterRecording, POISON_REST } from './after-recording.ts';
import { createExtraCalls, type InvoiceOf } from './extra-calls.ts';
import { createLoader } from './loader.ts';
import { createRecorder } from './recorder.ts';
import { createRepair } from './repair.ts';
import { createSiteCalls, type PolledSite, type SiteCalls } from './site-calls.ts';
import { createSiteOutside, type SiteOutside } from './site-outside.ts';
import { createWindow, type Entry } from './window.ts';

export interface PollerOptions {
  readonly sql: Sql;
  readonly clock: Clock & Partial<Pick<FollowingClock, 'at'>>;
  /** Time that the database's clock skipped: by it, no watch expires. */
  skipped(): SkippedTime;
  readonly log: Logger;
  readonly ownership: Ownership;
  readonly meters: Meters;
  /** Whether outcomes can be written. */
  readonly writes: Writes;
  readonly sites: readonly PolledSite[];
  /** The plan for a site. */
  policyFor(site: string): PollPolicy;
  /** Jitter in [-1, 1]. */
  spread(): number;
  /** Purchases in memory at most. */
  readonly capacity: number;
  /** Called when events were committed. */
  onEvents(): void;
  /** Called when something happened that the judge weighs. */
  onSymptom(): void;
  /** Wakes the poller's loop. */
  wake(): void;
}

export interface Poller {
  /** Loads purchases that became due or changed, and starts polls; answers how long the loop may rest. */
  tick(): Promise<Milliseconds>;
  /** Polls everything that is due now, once, and waits until the outcomes are recorded. For tests and the command `poll`. */
  pollDue(): Promise<void>;
  /** Asks the service for a purchase's whole invoice for a caller; nothing is recorded. Never rejects. */
  invoiceOf(purchase: InvoiceOf): Promise<InvoiceReply>;
  /** Whether this replica reaches the checkout services, for the decision to give its shards away. */
  readonly outside: SiteOutside;
  /** Polls that were made and are not recorded yet. */
  unwritten(): number;
  /** A purchase was erased: it leaves memory and is not polled any more. */
  forget(id: number): void;
  /** Starts no more polls and waits for those under way. */
  stop(): Promise<void>;
}

/** When a request left: by the database's clock as it was known then, and by the monotonic clock. */
interface Asked {
  readonly at: Instant;
  readonly moment: Milliseconds;
}

/** Without a wake-up, the loop looks for changes from outside this often: a lost notification costs this much at most. */
const SWEEP: Milliseconds = 5_000;
/** While there is more to load, the loop runs again after this. */
const SOON: Milliseconds = 20;
/** Pause of the loop while memory is full and polls make room. */
const MAKING_ROOM: Milliseconds = 250;
const LEAST_CAPACITY = 100;
/** Outcomes that wait to be written at most; beyond that no poll starts. */
const MOST_UNWRITTEN = 10_000;
/** A poll (a token and a call, each within the time-out) and its recording must end before the lease does. */
const TIME_TO_RECORD: Milliseconds = 2_000;
/** Pause while the lease is too short for a poll, or a shard is being given away. */
const RENEWAL_REST: Milliseconds = 250;
/** Calls of one site are spaced by less than this at any sensible ceiling. */
const LONGEST_SPACING: Milliseconds = 200;

/** What a poll and its recording may take. */
function needOf({ timeout }: PolledSite): Milliseconds {
  return 2 * timeout + TIME_TO_RECORD;
}

export function createPoller(options: PollerOptions): Poller {
  const { sql, clock, log, ownership, meters, writes, policyFor, spread, onEvents, onSymptom, wake } = options;
  // Each site has its share of memory, so that a site that cannot be polled does not fill that of others; with many sites, the least that works well.
  const capacity = Math.max(Math.floor(options.capacity / Math.max(options.sites.length, 1)), LEAST_CAPACITY);
  const windows = new Map(options.sites.map(({ name }) => [name, createWindow({ capacity, epochOf: ownership.epochOf })]));
  const callParts = { sql, clock, log, replica: ownership.replica };
  const siteCalls = new Map<string, SiteCalls>(
    options.sites.map((site) => [site.name, createSiteCalls(site, { ...callParts, spread, onReported: onSymptom })]),
  );
  const loader = createLoader({ sql, clock, log, ownership, windows });
  const extraCalls = createExtraCalls({
    siteCalls,
    ownership,
    needOf,
    pump: () => pumpOn(),
    onIdle: () => idle.rouse(),
  });
  /** Polls that ask for an invoice, too, from their status on until they are decided. */
  let invoicing = 0;

  let stopped = false;

  // Asking ----------------------------------------------------------------------------------------------------------

  /** Starts the polls that may start now; answers after how long more may start, if no answer comes before. */
  const pump = (): Milliseconds => {
    if (stopped) return Number.POSITIVE_INFINITY;
    const pause = afterRecording.pause();
    if (pause > 0) return pause;
    let next = Number.POSITIVE_INFINITY;
    for (const calls of siteCalls.values()) {
      calls.look();
      next = Math.min(next, pumpSite(calls));
    }
    return next;
  };

  const pumpSite = (calls: SiteCalls): Milliseconds => {
    const { site } = calls;
    const window = windows.get(site.name)!;
    const need = needOf(site);
    for (;;) {
      if (calls.inFlight >= site.concurrency || recorder.pending() > MOST_UNWRITTEN) return Number.POSITIVE_INFINITY;
      const dueAt = window.nextDue();
      const now = clock.now();
      // Extra calls go first, but never two in a row while a poll is due, so that neither starves.
      if (calls.turns.waiting > 0 && !(calls.turnGiven && dueAt !== null && dueAt <= now)) {
        const wait = extraCalls.giveTurn(calls);
        if (wait > 0) return wait;
        continue;
      }
      if (dueAt === null) return Number.POSITIVE_INFINITY;
      if (dueAt > now) return dueAt - now;
      if (!ownership.outlasts(need)) return RENEWAL_REST;
      // While the site may be failing, a purchase that answered well lately is polled in place of the due one.
      const entry = window.takeOneOf(calls.probes(), ({ shard }) => ownership.mayBegin(shard, need)) ?? window.take(now)!;
      const later = (at: Instant): void => window.settle(entry, { purchase: entry.purchase, dueAt: at, slot: entry.slot });
      if (!ownership.mayBegin(entry.purchase.shard, need)) {
        later(now + RENEWAL_REST);
        continue;
      }
      const { wait, probe } = calls.take(ownership.share());
      if (wait > 0) {
        later(entry.dueAt);
        return wait;
      }
      void ask(calls, entry, probe);
    }
  };

  /** Starts polls now, and sets the timer for the next ones. */
  const pumpOn = (): void => {
    const next = pump();
    if (next < Number.POSITIVE_INFINITY) alarm.within(Math.min(Math.max(next, 1), SWEEP));
  };
  const alarm = createAlarm(clock, () => pumpOn());

  const ask = async (calls: SiteCalls, entry: Entry, probe: boolean): Promise<void> => {
    const { shard, site, purchaseId, id } = entry.purchase;
    calls.inFlight += 1;
    calls.turnGiven = false;
    ownership.begin(shard);
    const asked: Asked = { at: clock.now(), moment: clock.monotonic() };
    const meter = meters.site(site);
    meter.inFlight += 1;
    const seen = await calls.site.pollStatus(purchaseId, entry.digest);
    meter.inFlight -= 1;
    meter.polled(seen.kind, clock.monotonic() - asked.moment);
    calls.inFlight -= 1;
    try {
      calls.answered(seen, { purchase: id, probe, asked: entry.purchase });
      if (entry.purchase.invoice === 'wanted' && !entry.gone && asksForInvoice(entry.purchase, seen))
        await askInvoice(calls, entry, seen, asked);
      else conclude(calls, entry, seen, asked, null);
    } catch (error) {
      // A bug that one purchase triggers must not end the polling of all others.
      log.error({ error, site, purchaseId }, 'poll.undecided');
      windows.get(site)?.settle(entry, null);
      loader.readAgain(id, POISON_REST);
      ownership.end(shard, entry.epoch);
    }
    pumpOn();
    idle.rouse();
  };

  const askInvoice = async (calls: SiteCalls, entry: Entry, seen: Observation, asked: Asked): Promise<void> => {
    invoicing += 1;
    try {
      conclude(calls, entry, seen, asked, await extraCalls.pollInvoice(calls, entry.purchase));
    } finally {
      invoicing -= 1;
    }
  };

  const conclude = (calls: SiteCalls, entry: Entry, seen: Observation, asked: Asked, invoice: InvoiceSeen | null): void => {
    const { shard, site, purchaseId } = entry.purchase;
    const window = windows.get(site)!;
    if (entry.gone) {
      ownership.end(shard, entry.epoch);
      return;
    }
    const last = invoice === null ? seen : observationOf(invoice);
    const excused = calls.excuses();
    entry.strikes = calls.fails() ? 0 : strikesAfter(entry.strikes, last, excused);
    const read = clock.now();
    const before = notAhead(entry.purchase, read);
    // The clock may have stepped while the answer was on its way.
    const askedAt = clock.at?.(asked.moment) ?? asked.at;
    // Two replicas' readings of the database's clock differ by a little; time must not run backwards for a purchase.
    const now = Math.max(read, askedAt, before.seenAt ?? 0);
    const { invoices } = calls.site;
    const policy = policyFor(site);
    const context = {
      ...{ askedAt, now, policy, skipped: options.skipped(), spread: spread() },
      ...{ strikes: entry.strikes, excused, invoices, invoice },
    };
    const outcome = decide(before, seen, context);
    if (outcome.kind === 'postponed') {
      log.debug({ site, purchaseId, reason: outcome.reason }, 'poll.postponed');
      window.settle(entry, { purchase: outcome.purchase, dueAt: outcome.nextPollAt ?? now, slot: entry.slot });
      ownership.end(shard, entry.epoch);
      return;
    }
    if (seen.kind === 'seen') entry.digest = seen.digest;
    const { slot, stays } = window.place(entry, outcome.nextPollAt, now);
    recorder.add({ entry, stays, decided: { outcome, askedAt, now, slot } });
  };

  // Recording -------------------------------------------------------------------------------------------------------

  const afterRecording = createAfterRecording({
    clock,
    log,
    meters,
    ownership,
    loader,
    windows,
    writes,
    onEvents,
    onSymptom,
    wake,
    pump: () => pumpOn(),
  });
  const recorder = createRecorder({
    sql,
    replica: ownership.replica,
    meter: meters.recording,
    repair: createRepair({ sql, log, meters, replica: ownership.replica, policyFor }),
    ...afterRecording,
  });

  // Waiting ---------------------------------------------------------------------------------------------------------

  const asking = (): number => {
    let total = invoicing + extraCalls.busy();
    for (const calls of siteCalls.values()) total += calls.inFlight;
    return total;
  };
  const idle = createIdle(asking);
  /** Resolves when no poll is under way and all outcomes are recorded. */
  const quiet = async (): Promise<void> => {
    while (asking() > 0 || recorder.pending() > 0) {
      await idle.wait();
      await recorder.drain();
    }
  };
  const anythingDue = (): boolean => {
    const now = clock.now();
    return [...windows.values()].some((window) => (window.nextDue() ?? Number.POSITIVE_INFINITY) <= now);
  };

  return {
    tick: async () => {
      const more = await loader.load();
      pumpOn();
      if (more) return SOON;
      return [...windows.values()].some((window) => window.pressed()) ? MAKING_ROOM : SWEEP;
    },
    pollDue: async () => {
      for (;;) {
        while (await loader.load());
        const next = pump();
        if (asking() > 0 || recorder.pending() > 0) await quiet();
        else if (next < LONGEST_SPACING && anythingDue()) {
          // A due purchase waits for its turn in the site's calls a second.
          await new Promise((resolve) => setTimeout(resolve, next));
        } else break;
      }
      alarm.cancel();
    },
    invoiceOf: extraCalls.invoiceOf,
    outside: createSiteOutside({ sql, clock, replica: ownership.replica, siteCalls }),
    unwritten: () => recorder.pending(),
    forget: (id) => {
      loader.left(id);
      for (const window of windows.values()) window.remove(id);
    },
    stop: async () => {
      stopped = true;
      extraCalls.stop();
      alarm.cancel();
      await quiet();
    },
  };
}
