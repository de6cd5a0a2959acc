/**
 * The price of wrong keys. From one address they are answered one after the other, a second each, so ten of them take ten
 * seconds however they are sent. What waits is bounded: beyond that a wrong key is answered at once, with 429. Right keys never
 * wait, whatever else comes from their address.
 */

import ipaddr from 'ipaddr.js';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, monotonic } from '../../runtime/time.ts';

const COST: Milliseconds = 1_000;
/** Answers that wait at once, from one address and from all: fewer than there are places for strangers. */
const MOST_FROM_ONE = 10;
const MOST_IN_ALL = 40;

export type WrongKeys = ReturnType<typeof createWrongKeys>;

/** Keeps the accounts of one daemon. `now` is a monotonic clock in milliseconds. */
export function createWrongKeys(now: () => Milliseconds = monotonic) {
  /** When the last answer that waits is given, by source. Holds only sources whose answers wait. */
  const lastAnswers = new Map<string, Milliseconds>();
  let waiting = 0;
  return {
    /** Waits as long as a wrong key from this address has to. Answers false, at once, when too many wait already. */
    pay: async (address: string, closing: AbortSignal | undefined): Promise<boolean> => {
      const source = sourceOf(address);
      const wait = Math.max((lastAnswers.get(source) ?? 0) - now(), 0) + COST;
      if (waiting >= MOST_IN_ALL || wait > MOST_FROM_ONE * COST) return false;
      const answerAt = now() + wait;
      lastAnswers.set(source, answerAt);
      waiting += 1;
      await delay(wait, undefined, { ref: false, ...(closing === undefined ? {} : { signal: closing }) }).catch(() => undefined);
      waiting -= 1;
      if (lastAnswers.get(source) === answerAt) lastAnswers.delete(source);
      return true;
    },
  };
}

/** A caller with an IPv6 address has all of its /64, and with IPv4 one address may be written as either. */
function sourceOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}
