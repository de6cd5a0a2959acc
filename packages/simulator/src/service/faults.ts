/** Which calls are to go wrong, and how. What each kind does to an answer is in faulty-answers.ts. */
import type { Fault, FaultSpec } from '../contract/control.ts';
import { SimulatorError } from '../contract/error.ts';
import { FAULT_KINDS, type FaultKind, GOOD_ANSWER, PURCHASE_ANSWER, REFUSALS, type RefusalKind } from '../contract/names.ts';
import type { Call } from '../values/call.ts';
import { milliseconds } from '../values/duration.ts';
import type { Random } from '../values/random.ts';

/** Whether a fault is a refusal, that is a well-formed error. */
export function isRefusal(kind: FaultKind): kind is RefusalKind {
  return (REFUSALS as readonly string[]).includes(kind);
}

export type Faults = ReturnType<typeof createFaults>;

/** Starts with no faults. The first one added that fits a call is taken. */
export function createFaults(now: () => number, random: Random) {
  let faults: Fault[] = [];
  let lastId = 0;
  const active = (at: number): Fault[] => {
    if (faults.some((fault) => fault.remaining <= 0 || fault.until <= at)) {
      faults = faults.filter((fault) => fault.remaining > 0 && fault.until > at);
    }
    return faults;
  };
  return {
    add(spec: FaultSpec): Fault {
      if (!FAULT_KINDS.includes(spec.kind))
        throw new SimulatorError('invalid_request', `is not a fault; there are ${FAULT_KINDS.join(', ')}`, {
          field: 'kind',
          value: spec.kind,
        });
      lastId += 1;
      const fault: Fault = {
        ...spec,
        id: lastId,
        remaining: spec.times ?? (spec.for === undefined ? 1 : Number.POSITIVE_INFINITY),
        until: spec.for === undefined ? Number.POSITIVE_INFINITY : now() + milliseconds(spec.for, 'for'),
      };
      faults.push(fault);
      return fault;
    },
    /** The fault for this call, if any, counted as used. */
    take(call: Call, answered: boolean, at: number): Fault | null {
      if (faults.length === 0) return null;
      const fault = active(at).find(
        (candidate) => fits(candidate, call, answered) && (candidate.share === undefined || random() < candidate.share),
      );
      if (fault === undefined) return null;
      fault.remaining -= 1;
      return fault;
    },
    list: (at: number): Fault[] => active(at).map((fault) => ({ ...fault })),
    clear(): void {
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
