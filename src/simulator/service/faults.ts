/** Which calls are to go wrong, and how. What each kind does to an answer is in faulty-answers.ts. */
import type { Call, Operation } from '../values/call.ts';
import { ControlError } from '../values/control-error.ts';
import { milliseconds } from '../values/duration.ts';
import type { Random } from '../values/random.ts';

/** Refusals: well-formed errors with this status. 429 comes with Retry-After in seconds or as a date. */
const REFUSALS = ['400', '401', '403', '404', '410', '422', '429-seconds', '429-date', '500', '502', '503'] as const;
/** Answers that have nothing to do with what was asked. */
const ANY_CALL = ['redirect', 'html', 'empty', 'null', 'deep', 'endless', 'hang', 'reset'] as const;
/** Spoils of a good answer: they wait for one. */
const GOOD_ANSWER = ['null-fields', 'cut', 'huge', 'slow-body', 'content-type', 'invalid-json', 'invalid-utf8'] as const;
/** Spoils of a good answer about a purchase. */
const PURCHASE_ANSWER = ['null-state', 'string-state', 'unknown-state', 'other-purchase'] as const;

export const FAULT_KINDS = [...REFUSALS, ...ANY_CALL, ...GOOD_ANSWER, ...PURCHASE_ANSWER] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];
export type RefusalKind = (typeof REFUSALS)[number];

/** Whether a fault is a refusal, that is a well-formed error. */
export function isRefusal(kind: FaultKind): kind is RefusalKind {
  return (REFUSALS as readonly string[]).includes(kind);
}

/** Which calls fail and how. Without `times` and `for`, one call. */
export interface FaultSpec {
  readonly kind: FaultKind;
  /** So many calls. */
  readonly times?: number | undefined;
  /** All calls during this time, for example `30s`; with `times`, at most so many of them. */
  readonly for?: number | string | undefined;
  /** Only calls of this operation. */
  readonly only?: Operation | undefined;
  /** Only calls about this purchase. */
  readonly purchaseId?: string | undefined;
  /** Only this share of the calls, drawn at random: 0.1 is every tenth. */
  readonly share?: number | undefined;
  /** Seconds, for 429 and 503. */
  readonly retryAfter?: number | undefined;
  /** The state in `unknown-state`. */
  readonly state?: number | undefined;
}

export interface Fault extends FaultSpec {
  readonly id: number;
  /** Calls that are still to fail; infinite when only time ends it. */
  remaining: number;
  readonly until: number;
}

export interface Faults {
  add(spec: FaultSpec): Fault;
  /** The fault for this call, if any, counted as used. */
  take(call: Call, answered: boolean, now: number): Fault | null;
  list(now: number): Fault[];
  clear(): void;
}

/** Starts with no faults. The first one added that fits a call is taken. */
export function createFaults(now: () => number, random: Random): Faults {
  let faults: Fault[] = [];
  let lastId = 0;
  const active = (at: number): Fault[] => {
    if (faults.some((fault) => fault.remaining <= 0 || fault.until <= at)) {
      faults = faults.filter((fault) => fault.remaining > 0 && fault.until > at);
    }
    return faults;
  };
  return {
    add(spec) {
      if (!FAULT_KINDS.includes(spec.kind))
        throw new ControlError(400, `there is no fault "${spec.kind}"; there are ${FAULT_KINDS.join(', ')}`);
      lastId += 1;
      const fault: Fault = {
        ...spec,
        id: lastId,
        remaining: spec.times ?? (spec.for === undefined ? 1 : Number.POSITIVE_INFINITY),
        until: spec.for === undefined ? Number.POSITIVE_INFINITY : now() + milliseconds(spec.for),
      };
      faults.push(fault);
      return fault;
    },
    take(call, answered, at) {
      if (faults.length === 0) return null;
      const fault = active(at).find(
        (candidate) => fits(candidate, call, answered) && (candidate.share === undefined || random() < candidate.share),
      );
      if (fault === undefined) return null;
      fault.remaining -= 1;
      return fault;
    },
    list: (at) => active(at).map((fault) => ({ ...fault })),
    clear() {
      faults = [];
    },
  };
}

function fits(fault: Fault, call: Call, answered: boolean): boolean {
  if (fault.only !== undefined && fault.only !== call.operation) return false;
  if (fault.purchaseId !== undefined && fault.purchaseId !== call.purchaseId) return false;
  if ((PURCHASE_ANSWER as readonly string[]).includes(fault.kind)) return answered && call.purchaseId !== null;
  return answered || !(GOOD_ANSWER as readonly string[]).includes(fault.kind);
}
