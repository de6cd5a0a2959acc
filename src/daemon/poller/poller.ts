/** Polls due purchases: plans the next call of each site, polls, decides, records, and applies what was recorded. */

import type { Ownership } from '../../domain/replicas/ownership.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { NewDeliveries } from '../../postgres/deliveries/new-deliveries.ts';
import { createRest } from '../../runtime/loops/rest.ts';
import { delay, startImmediate } from '../../runtime/time.ts';
import type { Deps } from '../deps.ts';
import { createAfterRecording } from './after-recording.ts';
import { nextCall } from './planning.ts';
import { createPolls } from './polls.ts';
import { createRecorder } from './recorder.ts';
import { createRepair } from './repair.ts';
import { createExtraCalls } from './sites/extra-calls.ts';
import { createSiteCalls, needOf, type PolledSite, type SiteCalls } from './sites/site-calls.ts';
import { createSiteOutside } from './sites/site-outside.ts';
import { createSiteStates } from './sites/site-states.ts';
import { createInsteadOf } from './unrecordable.ts';
import { hasRoomAgain, type Windows } from './window/due-reads.ts';
import { createPurchaseLoader } from './window/purchase-loader.ts';
import { BESIDE, createWindow } from './window/window.ts';

interface PollerOptions
  extends Pick<
    Deps,
    'sql' | 'clock' | 'skipped' | 'log' | 'ownership' | 'meters' | 'traces' | 'writes' | 'policyFor' | 'spread'
  > {
  /** For recording polls. */
  readonly recordingSql: Sql;
  readonly sites: readonly PolledSite[];
  /** Purchases in memory at most. */
  readonly capacity: number;
  /** Called when events were committed, with the deliveries that this replica sends. */
  onEvents(deliveries: NewDeliveries): void;
  /** Called when something happened that the judge weighs. */
  onSymptom(): void;
  /** Wakes the poller's loop, which loads purchases. */
  wake(): void;
}

/** Without a wake-up, the loop looks for changes from outside this often: a lost notification costs this much at most. */
const SWEEP: Milliseconds = 5_000;
/** While there is more to load, the loop runs again after this. */
const WHILE_MORE: Milliseconds = 20;
/** Pause of the loop while memory is full and polls make room. */
const MAKING_ROOM: Milliseconds = 250;
const LEAST_CAPACITY = 100;
/** Outcomes that wait to be written at most; beyond that no poll starts. */
const MOST_UNWRITTEN = 10_000;
/** Polls that begin in one turn of the event loop at most: changes are recorded and sent between turns. */
const MOST_IN_TURN = 16;
/** Calls of one site are spaced by less than this at any sensible ceiling. */
const LONGEST_SPACING: Milliseconds = 200;

export function createPoller(options: PollerOptions) {
  const { clock, ownership } = options;
  /** Of the loop that starts calls: what waits for an answer, a turn or a record ends it. */
  const rest = createRest(clock);
  const parts = createParts(options, rest.wake);
  const { siteCalls, windows, loader, extraCalls, afterRecording, recorder, polls, siteStates, outside } = parts;
  let stopped = false;
  let starting: Promise<void> | null = null;

  const startCallsOf = createCallStarter(options, parts, rest.wake);
  const startCalls = (): Milliseconds => {
    const pause = afterRecording.pause();
    if (stopped || pause > 0) return stopped ? Number.POSITIVE_INFINITY : pause;
    let next = Number.POSITIVE_INFINITY;
    for (const calls of siteCalls.values()) {
      calls.look();
      next = Math.min(next, startCallsOf(calls));
    }
    return next;
  };
  const startUntilStopped = async (): Promise<void> => {
    while (!stopped) await rest.take(Math.min(startCalls(), SWEEP));
  };

  const underWay = (): number =>
    [...siteCalls.values()].reduce((sum, { inFlight }) => sum + inFlight, polls.invoicing() + extraCalls.busy());
  /** Starts calls until none is under way and none may start. Answers after how long more may start. */
  const startAll = async (): Promise<Milliseconds> => {
    for (;;) {
      const next = startCalls();
      if (underWay() === 0) return next;
      await rest.take(Math.min(next, SWEEP));
    }
  };

  return {
    /** Loads purchases that became due or changed; answers how long the loop may rest. From the first tick on, polls start. */
    tick: async (): Promise<Milliseconds> => {
      const more = await loader.load();
      starting ??= startUntilStopped();
      rest.wake();
      if (more) return WHILE_MORE;
      return [...windows.values()].some((window) => window.pressed()) ? MAKING_ROOM : SWEEP;
    },
    /**
     * Polls everything that is due now, once, and waits until the outcomes are recorded; false when the lease became too short for
     * what is left. For tests, without `tick`.
     */
    pollDue: async (): Promise<boolean> => {
      for (;;) {
        while (await loader.load());
        const next = await startAll();
        if (recorder.pending() > 0) await recorder.drain();
        // Nothing may begin on this lease: with the next one the pass goes on.
        else if (!outlastsAny(ownership, siteCalls)) return !isDueBy(windows, clock.now()) && !hasRoomAgain(windows);
        // Everything may be recorded by now, which made room for purchases that had none.
        else if (hasRoomAgain(windows)) continue;
        // A due purchase waits for its turn in the site's calls a second.
        else if (next < LONGEST_SPACING && isDueBy(windows, clock.now())) await delay(next);
        else return true;
      }
    },
    invoiceOf: extraCalls.invoiceOf,
    outside,
    writeSites: siteStates.write,
    /** Another database answers than before: what is written of each site, and read of it, is written and read again. */
    forgetSites: (): void => {
      siteStates.forget();
      for (const calls of siteCalls.values()) calls.forget();
    },
    /** Polls that were made and are not recorded yet. */
    unwritten: (): number => recorder.pending(),
    /** A purchase was erased: it leaves memory and is not polled any more. */
    forget: (id: number): void => {
      loader.left(id);
      for (const window of windows.values()) window.remove(id);
    },
    /** Starts no more polls and waits for those under way. */
    stop: async (): Promise<void> => {
      stopped = true;
      extraCalls.stop();
      rest.wake();
      await starting;
      while (underWay() > 0 || recorder.pending() > 0) {
        await startAll();
        await recorder.drain();
      }
    },
  };
}

/** A function that starts the calls of a site that may leave now; it answers after how long more may, if no wake-up comes before. */
function createCallStarter(
  { clock, ownership }: PollerOptions,
  parts: Parts,
  wake: () => void,
): (calls: SiteCalls) => Milliseconds {
  const { windows, extraCalls, recorder, polls } = parts;
  let inTurn = 0;
  const turnEnded = (): void => {
    inTurn = 0;
    wake();
  };
  return (calls) => {
    const window = windows.get(calls.site.name)!;
    for (;;) {
      if (recorder.pending() > MOST_UNWRITTEN) return Number.POSITIVE_INFINITY;
      if (inTurn >= MOST_IN_TURN) return 0;
      const call = nextCall(calls, window, { ownership, extraCalls, now: clock.now() });
      if (call.kind === 'rest') return call.wait;
      if (call.kind !== 'poll') continue;
      inTurn += 1;
      if (inTurn === MOST_IN_TURN) startImmediate(turnEnded);
      void polls.poll(calls, call.entry, call.probe);
    }
  };
}

/** Whether the lease is long enough for a poll of any site. */
function outlastsAny({ outlasts }: Ownership, siteCalls: ReadonlyMap<string, SiteCalls>): boolean {
  return [...siteCalls.values()].every(({ site }) => outlasts(needOf(site)));
}

function isDueBy(windows: Windows, now: Instant): boolean {
  return [...windows.values()].some((window) => (window.nextDue() ?? Number.POSITIVE_INFINITY) <= now);
}

type Parts = ReturnType<typeof createParts>;

/** The poller's parts, each built from those before it. `wakeCalls` wakes the loop that starts calls. */
function createParts(options: PollerOptions, wakeCalls: () => void) {
  const { sql, clock, log, ownership, meters, policyFor, spread, onSymptom, sites } = options;
  const { replica, epochOf } = ownership;
  // Each site has its share of memory, so that a site that cannot be polled does not fill that of others; with many sites, the least that works well.
  const most = options.capacity / Math.max(sites.length, 1);
  const capacity = Math.max(Math.floor(most / (1 + 2 * BESIDE)), LEAST_CAPACITY);
  const windows = new Map(sites.map(({ name }) => [name, createWindow({ capacity, epochOf, now: clock.now })]));
  const callParts = { sql, clock, log, replica, spread, onReported: onSymptom };
  const siteCalls = new Map(sites.map((site) => [site.name, createSiteCalls(site, callParts)]));
  const extraCalls = createExtraCalls({ siteCalls, ownership, wake: wakeCalls });
  const loader = createPurchaseLoader({ sql, clock, log, ownership, windows, wake: options.wake });
  const afterRecording = createAfterRecording({ ...options, loader, windows, wakeLoader: options.wake, wakeCalls });
  const repair = createRepair({ sql, log, meters, replica, policyFor });
  const insteadOf = createInsteadOf({ ...options, windows });
  const recorder = createRecorder({
    sql: options.recordingSql,
    replica,
    meter: meters.recording,
    traces: options.traces,
    repair,
    insteadOf,
    ...afterRecording,
  });
  const polls = createPolls({ ...options, windows, loader, extraCalls, recorder, wake: wakeCalls });
  const siteStates = createSiteStates({ sql, clock, ownership, siteCalls });
  const outside = createSiteOutside({ sql, clock, replica, siteCalls });
  return { siteCalls, windows, loader, extraCalls, afterRecording, recorder, polls, siteStates, outside };
}
