/** Polls one purchase at a time: asks the site, decides what the answer means, and hands the outcome to the recorder. */

import { decide } from '../../domain/deciding/decide.ts';
import { asksForInvoice } from '../../domain/deciding/invoice.ts';
import { type InvoiceSeen, observationOf } from '../../domain/deciding/invoice-seen.ts';
import type { PollOutcome } from '../../domain/deciding/outcome.ts';
import { asksForAmount } from '../../domain/polling/at-risk.ts';
import { strikesAfter } from '../../domain/polling/poll-plan.ts';
import type { Observation } from '../../domain/purchases/purchase.ts';
import { isAhead } from '../../domain/values/clock-steps.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';
import type { RequestTrace } from '../../runtime/traces/traces.ts';
import type { Deps } from '../deps.ts';
import { POISON_REST } from './after-recording.ts';
import type { Recorder } from './recorder.ts';
import type { ExtraCalls } from './sites/extra-calls.ts';
import type { SiteCalls } from './sites/site-calls.ts';
import type { Windows } from './window/due-reads.ts';
import type { Entry } from './window/entries.ts';
import type { PurchaseLoader } from './window/purchase-loader.ts';

interface PollsOptions
  extends Pick<Deps, 'clock' | 'log' | 'meters' | 'traces' | 'ownership' | 'policyFor' | 'skipped' | 'spread'> {
  readonly windows: Windows;
  readonly loader: PurchaseLoader;
  readonly extraCalls: ExtraCalls;
  readonly recorder: Recorder;
  /** Wakes the poller when a poll has ended. */
  wake(): void;
}

/** A poll whose status was answered. */
interface Answered {
  readonly calls: SiteCalls;
  readonly entry: Entry;
  readonly seen: Observation;
  readonly trace: RequestTrace | undefined;
  /** When the request left: by the database's clock as it was known then, and by the monotonic clock. */
  readonly askedAt: Instant;
  readonly askedMoment: Milliseconds;
}

export function createPolls(options: PollsOptions) {
  const { clock, log, meters, traces, ownership, windows, loader, extraCalls, recorder, policyFor, wake } = options;
  let invoicing = 0;

  const ask = async (calls: SiteCalls, entry: Entry): Promise<Answered> => {
    const meter = meters.site(entry.purchase.site);
    calls.begin(false);
    ownership.begin(entry.purchase.shard);
    const askedAt = clock.now();
    const askedMoment = clock.monotonic();
    meter.inFlight += 1;
    meter.began(askedAt - entry.dueAt);
    const trace = traces?.beginPoll(entry);
    const { purchase } = entry;
    const known = asksForAmount(purchase, policyFor(purchase.site), askedAt) ? null : entry.digest;
    const seen = await calls.site.pollStatus(purchase.purchaseId, known, trace);
    meter.inFlight -= 1;
    meter.polled(seen.kind, clock.monotonic() - askedMoment, entry.purchase.id);
    calls.end();
    return { calls, entry, seen, trace, askedAt, askedMoment };
  };

  const askInvoice = async ({ calls, entry, trace }: Answered): Promise<InvoiceSeen | null> => {
    invoicing += 1;
    try {
      return await extraCalls.pollInvoice(calls, entry.purchase, trace);
    } finally {
      invoicing -= 1;
    }
  };

  const postpone = (entry: Entry, { purchase, reason, nextPollAt }: PollOutcome, now: Instant): void => {
    const { site, purchaseId, shard } = purchase;
    log.debug({ site, purchaseId, reason }, 'poll.postponed');
    windows.get(site)!.settle(entry, { purchase, dueAt: nextPollAt ?? now, slot: entry.slot });
    ownership.end(shard, entry.epoch);
  };

  const conclude = (answered: Answered, invoice: InvoiceSeen | null): void => {
    const { entry, seen } = answered;
    const { site } = entry.purchase;
    const began = monotonic();
    const { outcome, askedAt, now } = decided(options, answered, invoice);
    traces?.decided(entry, outcome, began);
    if (outcome.kind === 'postponed') {
      postpone(entry, outcome, now);
      return;
    }
    if (seen.kind === 'seen') entry.digest = seen.digest;
    const { slot, stays } = windows.get(site)!.place(entry, outcome.nextPollAt, now);
    recorder.add({ entry, stays, decided: { outcome, askedAt, now, slot } });
  };

  return {
    /** Polls a purchase that its window gave out. Never rejects. */
    poll: async (calls: SiteCalls, entry: Entry, probe: boolean): Promise<void> => {
      const { purchase } = entry;
      const answered = await ask(calls, entry);
      const { seen } = answered;
      try {
        calls.answered(seen, { purchase: purchase.id, probe, asked: purchase });
        const isInvoiceDue = !entry.gone && asksForInvoice(entry.purchase, seen);
        conclude(answered, isInvoiceDue ? await askInvoice(answered) : null);
      } catch (error) {
        // A bug that one purchase triggers must not end the polling of all others.
        const { site, purchaseId, id, shard } = purchase;
        log.error({ error, site, purchaseId }, 'poll.undecided');
        windows.get(site)!.settle(entry, null);
        loader.readAgain(id, POISON_REST);
        ownership.end(shard, entry.epoch);
      }
      wake();
    },
    /** Polls that ask for an invoice, too, from their status on until they are decided. */
    invoicing: (): number => invoicing,
  };
}

/** The outcome of an answer, with the times of the database's clock that it was decided by. */
function decided(options: PollsOptions, answered: Answered, invoice: InvoiceSeen | null) {
  const { clock, policyFor, skipped, spread } = options;
  const { calls, entry, seen, askedMoment } = answered;
  const last = invoice === null ? seen : observationOf(invoice);
  const excused = calls.excuses();
  entry.strikes = calls.fails() ? 0 : strikesAfter(entry.strikes, last, excused);
  const read = clock.now();
  const { purchase } = entry;
  // The clock was set back, and upkeep has not moved the purchase's times yet.
  const before = isAhead(purchase.seenAt ?? 0, read) ? { ...purchase, seenAt: read } : purchase;
  // The clock may have stepped while the answer was on its way.
  const askedAt = clock.at?.(askedMoment) ?? answered.askedAt;
  // Two replicas' readings of the database's clock differ by a little; time must not run backwards for a purchase.
  const now = Math.max(read, askedAt, before.seenAt ?? 0);
  const outcome = decide(before, seen, {
    askedAt,
    now,
    policy: policyFor(purchase.site),
    skipped: skipped(),
    spread: spread(),
    strikes: entry.strikes,
    excused,
    invoices: calls.site.invoices,
    invoice,
  });
  return { outcome, askedAt, now };
}
