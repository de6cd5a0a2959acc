/** Calls to one site in virtual time, as the poller makes them: due purchases, a ceiling, a breaker, retries. */

import TinyQueue from 'tinyqueue';
import { afterAnswer, allowance, type Breaker, CLOSED, probeSent } from '../../src/domain/polling/breaker.ts';
import { postponement } from '../../src/domain/polling/poll-plan.ts';
import { isSiteDoubtful, newSiteAnswers } from '../../src/domain/polling/site-answers.ts';
import type { Observation } from '../../src/domain/purchases/purchase.ts';

export interface TrafficOptions {
  readonly purchases: number;
  /** How long to go on, in milliseconds. */
  readonly until: number;
  /** When a purchase is first due; at once unless given. */
  starts?(purchase: number): number;
  /** What a call shows that leaves at `now`, how long its answer takes, and when the purchase is due again; null: never. */
  call(purchase: number, now: number): { readonly seen: Observation; readonly takes: number; readonly again: number | null };
  /** Calls a second. */
  readonly ceiling?: number;
  readonly concurrency?: number;
  readonly random?: () => number;
  /** Called after each answer. `opened`: for good, or again; `awaited` calls are not answered yet. */
  readonly onAnswer?: (answer: { now: number; purchase: number; good: boolean; opened: boolean; awaited: number }) => void;
}

export interface Traffic {
  /** When the breaker opened for good, and how many answers in a row had failed by then. */
  readonly openings: { readonly at: number; readonly failures: number; readonly cause: string }[];
  readonly calls: { readonly at: number; readonly purchase: number; readonly probe: boolean; readonly good: boolean }[];
  /** When the last purchase was answered that is not asked again; null while some are asked. */
  readonly finishedAt: number | null;
  readonly breaker: Breaker;
}

export function siteTraffic(options: TrafficOptions): Traffic {
  const {
    purchases,
    until,
    starts = () => 0,
    call,
    ceiling = 50,
    concurrency = 32,
    random = () => 0.5,
    onAnswer = () => {},
  } = options;
  const answers = newSiteAnswers();
  const openings: Traffic['openings'] = [];
  const calls: Traffic['calls'] = [];
  const due = new Map<number, number>();
  const queue = new TinyQueue<{ readonly purchase: number; readonly at: number }>([], (a, b) => a.at - b.at);
  const wait = (purchase: number, at: number): void => {
    due.set(purchase, at);
    queue.push({ purchase, at });
  };
  for (let purchase = 0; purchase < purchases; purchase++) wait(purchase, starts(purchase));
  const strikes = new Map<number, number>();
  let breaker: Breaker = CLOSED;
  let isOpen = false;
  let now = 0;
  let inFlight = 0;
  let mayLeaveAt = 0;
  let failures = 0;
  let finishedAt: number | null = null;
  const coming = new TinyQueue<{ readonly at: number; run(): void }>([], (a, b) => a.at - b.at);
  const schedule = (at: number, run: () => void): void => coming.push({ at, run });

  /** The purchase that has been due for longest, or is due first. */
  const first = (): { readonly purchase: number; readonly at: number } | undefined => {
    for (;;) {
      const top = queue.peek();
      if (top === undefined || due.get(top.purchase) === top.at) return top;
      queue.pop();
    }
  };
  const next = (isChosen: boolean): number => {
    const chosen = isChosen ? [...answers.well.keys()].reverse().find((purchase) => due.has(purchase)) : undefined;
    return chosen ?? first()!.purchase;
  };
  const answered = (purchase: number, probe: boolean, reply: ReturnType<typeof call>): void => {
    inFlight -= 1;
    const { seen, again } = reply;
    const good = seen.kind === 'seen' || seen.kind === 'same';
    failures = good ? 0 : failures + 1;
    const context = { now, ceiling, spread: random() * 2 - 1, purchase, probe, awaited: inFlight, answers };
    const before = breaker;
    breaker = afterAnswer(before, seen, context);
    const wasOpen = isOpen;
    isOpen = breaker.kind === 'open' && breaker.unless === null;
    onAnswer({ now, purchase, good, opened: !good && isOpen && breaker !== before, awaited: inFlight });
    if (isOpen && !wasOpen) openings.push({ at: now, failures, cause: breaker.kind === 'open' ? breaker.cause : '' });
    const struck = good || breaker.kind !== 'closed' ? 0 : (strikes.get(purchase) ?? 0) + 1;
    strikes.set(purchase, struck);
    if (!good) wait(purchase, now + postponement(struck) * (0.9 + 0.2 * random()));
    else if (again !== null) wait(purchase, again);
    else if (due.size === 0 && inFlight === 0) finishedAt = now;
  };
  const pump = (): void => {
    for (;;) {
      const allowed = allowance(breaker, now);
      const dueAt = first()?.at ?? Number.POSITIVE_INFINITY;
      if (inFlight >= concurrency || allowed.kind === 'none' || dueAt > now) {
        const from = allowed.kind === 'none' ? (allowed.until ?? Number.POSITIVE_INFINITY) : now;
        const at = Math.max(from, dueAt);
        if (inFlight < concurrency && at < until) wakeAt(at);
        return;
      }
      if (mayLeaveAt > now) {
        wakeAt(mayLeaveAt);
        return;
      }
      const rate = allowed.kind === 'limited' ? Math.min(allowed.rate, ceiling) : ceiling;
      mayLeaveAt = now + 1_000 / rate;
      const probe = allowed.kind === 'probe';
      if (probe) breaker = probeSent(breaker);
      const purchase = next(probe || isSiteDoubtful(answers));
      due.delete(purchase);
      inFlight += 1;
      const reply = call(purchase, now);
      calls.push({ at: now, purchase, probe, good: reply.seen.kind === 'seen' });
      schedule(now + reply.takes, () => answered(purchase, probe, reply));
    }
  };
  let wake: number | null = null;
  const wakeAt = (at: number): void => {
    if (wake !== null && wake <= at && wake > now) return;
    wake = at;
    schedule(at, () => {
      if (wake === at) wake = null;
    });
  };

  pump();
  for (;;) {
    const event = coming.pop();
    if (event === undefined || event.at > until) break;
    now = event.at;
    event.run();
    pump();
  }
  return { openings, calls, finishedAt, breaker };
}

/** Numbers in [0, 1), the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
