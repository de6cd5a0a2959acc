/**
 * Counts that a daemon keeps of its own work. Plain numbers, added to on the way and read on request: a poll must not
 * pay for labels and their look-ups.
 */

import type { Observation } from '../domain/purchases/purchase.ts';
import type { Milliseconds } from '../domain/values/time.ts';

export type ObservationKind = Observation['kind'];
/** As this replica sees it: it misses renewals that the database had confirmed, or only another server answers. */
export type DatabaseChangeKind = 'went_back' | 'moved';
export const DATABASE_CHANGE_KINDS: readonly DatabaseChangeKind[] = ['went_back', 'moved'];
export type AttemptOutcome = 'delivered' | 'failed' | 'exhausted' | 'gone';

export const POLL_OUTCOMES: readonly ObservationKind[] = [
  'seen',
  'same',
  'unknown',
  'malformed',
  'throttled',
  'refused',
  'unreachable',
];
export const ATTEMPT_OUTCOMES: readonly AttemptOutcome[] = ['delivered', 'failed', 'exhausted', 'gone'];

/** One value of many, with the id by which its work can be looked up. */
interface Exemplar {
  readonly id: string | number;
  readonly value: number;
  /** Epoch milliseconds of this machine's clock, as Prometheus wants it. */
  readonly at: number;
}

export type Spread = ReturnType<typeof createSpread>;
/** One site's polls. */
export type SiteMeter = ReturnType<typeof createSiteMeter>;
/** One subscriber's deliveries. */
export type SubscriberMeter = ReturnType<typeof createSubscriberMeter>;
export type Meters = ReturnType<typeof createMeters>;

const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** From a webhook at once to one on the last entry of the schedule. */
const LATENCY_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200, 86_400];
const BATCH_BOUNDS = [1, 10, 50, 100, 250, 500, 1_000];

/** Meters at zero. */
export function createMeters() {
  const sites = new Map<string, SiteMeter>();
  const subscribers = new Map<string, SubscriberMeter>();
  const events = new Map<string, number>();
  const databaseChanges = { went_back: 0, moved: 0 };
  return {
    /** Made when first asked for; keep it rather than asking with every poll. */
    site: (name: string): SiteMeter => madeOnce(sites, name, createSiteMeter),
    subscriber: (name: string): SubscriberMeter => madeOnce(subscribers, name, createSubscriberMeter),
    /** Drops the meter of a subscriber that is deleted. */
    forgetSubscriber: (name: string): void => void subscribers.delete(name),
    /** An event was committed. */
    committed: (type: string): void => void events.set(type, (events.get(type) ?? 0) + 1),
    /** Another database answered than before. */
    databaseChanged: (kind: DatabaseChangeKind): void => {
      databaseChanges[kind] += 1;
    },
    databaseChanges,
    /** Seconds that a statement took which recorded polls, the wait for a connection included, and how many it recorded. */
    recording: { took: createSpread(CALL_BOUNDS), polls: createSpread(BATCH_BOUNDS) },
    sites: (): ReadonlyMap<string, SiteMeter> => sites,
    subscribers: (): ReadonlyMap<string, SubscriberMeter> => subscribers,
    events: (): ReadonlyMap<string, number> => events,
  };
}

function madeOnce<Meter>(meters: Map<string, Meter>, name: string, make: () => Meter): Meter {
  let meter = meters.get(name);
  if (meter === undefined) {
    meter = make();
    meters.set(name, meter);
  }
  return meter;
}

function createSiteMeter() {
  const polls: Record<ObservationKind, number> = {
    seen: 0,
    same: 0,
    unknown: 0,
    malformed: 0,
    throttled: 0,
    refused: 0,
    unreachable: 0,
  };
  const took = createSpread(CALL_BOUNDS);
  let greatestLag: Milliseconds = 0;
  return {
    polls,
    /** Seconds from asking to the answer. */
    took,
    inFlight: 0,
    /** Changes of state that were recorded. */
    changes: 0,
    /** Purchases whose row was set back to what had been announced of them. */
    repairs: 0,
    /** Polls that were not recorded because another session had locked the purchase's row. */
    locked: 0,
    /** A poll began so long after it was due; less than nothing when it was made before. */
    began: (lag: Milliseconds): void => {
      if (lag > greatestLag) greatestLag = lag;
    },
    /** The greatest lag of the polls that began since this was last asked; 0 when none was late. */
    takeLag: (): Milliseconds => {
      const taken = greatestLag;
      greatestLag = 0;
      return taken;
    },
    /** A poll of the purchase with this row id ended. */
    polled: (outcome: ObservationKind, milliseconds: Milliseconds, rowId?: number): void => {
      polls[outcome] += 1;
      took.add(milliseconds / 1_000, rowId);
    },
  };
}

function createSubscriberMeter() {
  const attempts: Record<AttemptOutcome, number> = { delivered: 0, failed: 0, exhausted: 0, gone: 0 };
  const latency = createSpread(LATENCY_BOUNDS);
  return {
    attempts,
    /** Seconds from the event to its receipt. */
    latency,
    /** An attempt to deliver the event with this id ended, so long after the event was made. */
    attempted: (outcome: AttemptOutcome, sinceEvent: Milliseconds, eventId?: string): void => {
      attempts[outcome] += 1;
      // Two machines' clocks may differ by a little.
      if (outcome === 'delivered') latency.add(Math.max(sinceEvent, 0) / 1_000, eventId);
    },
  };
}

/** How values are spread: how many were at most each bound (they rise), and their sum; of nothing yet. */
function createSpread(bounds: readonly number[]) {
  const counts = bounds.map(() => 0).concat(0);
  const exemplars: (Exemplar | undefined)[] = counts.map(() => undefined);
  let sum = 0;
  return {
    bounds,
    /** One for each bound, and one for what is beyond the last. */
    counts,
    /** The latest value within each bound that was added with an id, in the places of `counts`. */
    exemplars,
    sum: () => sum,
    add: (value: number, id?: string | number): void => {
      let place = 0;
      while (place < bounds.length && value > bounds[place]!) place += 1;
      counts[place]! += 1;
      sum += value;
      if (id !== undefined) exemplars[place] = { id, value, at: Date.now() };
    },
  };
}
