/** Counts of calls: they prove that ceilings hold and that clients ask about no purchase twice at a time. */
import type { Counts } from '../contract/control.ts';
import { OPERATIONS, type Operation } from '../contract/names.ts';
import type { Call } from '../values/call.ts';

export type Counters = ReturnType<typeof createCounters>;

/** Ids that never existed are counted too; beyond this many ids the oldest are dropped. */
const MOST_IDS = 1_000_000;
const SHOWN_OVERLAPS = 20;

/** Starts at zero. */
export function createCounters() {
  let totals = zeroTotals();
  let windows = zeroWindows();
  let perPurchase = new Map<string, number>();
  let overlapping = new Set<string>();
  const inFlight = new Map<string, number>();
  let inFlightNow = 0;

  return {
    /** Counts a call that has come in; call the result when it is over. */
    begin({ operation, purchaseId }: Call, now: number): () => void {
      totals.calls[operation] += 1;
      windows.all.count(now);
      windows[operation].count(now);
      inFlightNow += 1;
      totals.mostInFlight = Math.max(totals.mostInFlight, inFlightNow);
      if (purchaseId === null) {
        return () => {
          inFlightNow -= 1;
        };
      }
      perPurchase.set(purchaseId, (perPurchase.get(purchaseId) ?? 0) + 1);
      if (perPurchase.size > MOST_IDS) perPurchase.delete(perPurchase.keys().next().value as string);
      const together = (inFlight.get(purchaseId) ?? 0) + 1;
      inFlight.set(purchaseId, together);
      totals.mostInFlightPerPurchase = Math.max(totals.mostInFlightPerPurchase, together);
      if (together > 1 && overlapping.size < SHOWN_OVERLAPS) overlapping.add(purchaseId);
      return () => {
        inFlightNow -= 1;
        const left = (inFlight.get(purchaseId) ?? 1) - 1;
        if (left === 0) inFlight.delete(purchaseId);
        else inFlight.set(purchaseId, left);
      };
    },
    fault(): void {
      totals.faults += 1;
    },
    elsewhere(): void {
      totals.elsewhere += 1;
    },
    counts: (): Counts => ({
      ...totals,
      calls: { ...totals.calls },
      inFlight: inFlightNow,
      mostPerSecond: perOperation((operation) => windows[operation].most()),
      overlapping: [...overlapping],
    }),
    /** Calls about a purchase so far. */
    callsOf: (purchaseId: string): number => perPurchase.get(purchaseId) ?? 0,
    callsPerPurchase: () => new Map(perPurchase),
    forget: (purchaseId: string) => perPurchase.delete(purchaseId),
    reset(): void {
      totals = zeroTotals();
      windows = zeroWindows();
      perPurchase = new Map();
      overlapping = new Set();
    },
  };
}

function zeroTotals() {
  return {
    calls: Object.fromEntries(OPERATIONS.map((operation) => [operation, 0])) as Record<Operation, number>,
    elsewhere: 0,
    faults: 0,
    mostInFlight: 0,
    mostInFlightPerPurchase: 0,
  };
}

function zeroWindows() {
  return perOperation(createWindow);
}

function perOperation<T>(make: (operation: Operation | 'all') => T): Record<Operation | 'all', T> {
  return Object.fromEntries((['all', ...OPERATIONS] as const).map((operation) => [operation, make(operation)])) as Record<
    Operation | 'all',
    T
  >;
}

/** A window of one second that slides along with the calls, so a burst across two clock seconds is seen whole. */
function createWindow() {
  let times: number[] = [];
  let oldest = 0;
  let most = 0;
  return {
    count(now: number): void {
      times.push(now);
      while ((times[oldest] ?? now) <= now - 1_000) oldest += 1;
      most = Math.max(most, times.length - oldest);
      if (oldest > 10_000) {
        times = times.slice(oldest);
        oldest = 0;
      }
    },
    most: () => most,
  };
}
