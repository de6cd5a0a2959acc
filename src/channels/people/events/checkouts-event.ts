/** Events about single stuck checkouts, read back from their body (daemon/judge/stuck-checkouts.ts describes it). */

import type { CheckoutOutcome } from '../../../domain/incidents/stuck-checkouts.ts';
import type { NamedState } from '../../../domain/purchases/states.ts';
import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { count, digits, type Fields, fields, instant, list, quantity, state, text } from './event-fields.ts';

/** What names a checkout. */
interface NamedCheckout {
  readonly site: string;
  readonly state: NamedState;
  readonly purchaseId: string;
  readonly orderReference: string | null;
  readonly price: string | null;
  readonly currency: string | null;
  /** When it came into the state. */
  readonly since: Instant;
}

export interface ToldStuck extends NamedCheckout {
  readonly limitMs: Milliseconds | null;
}

export interface ToldOver extends NamedCheckout {
  readonly outcome: CheckoutOutcome;
  /** The state that came after. */
  readonly to: NamedState | null;
  readonly overAt: Instant;
}

/** Why checkouts of a state at a site alert by themselves. */
export interface ToldReason {
  readonly site: string;
  readonly state: NamedState;
  readonly mode: 'auto' | 'each';
  readonly counted: number;
  readonly perDay: number | null;
  /** From here on incidents alert instead. */
  readonly isLast: boolean;
  /** Of those that are stuck, how many are here. */
  readonly count: number;
  /** When the last customer came who got on here; null when none is known. */
  readonly lastWellAt: Instant | null;
}

export interface Checkouts {
  readonly kind: 'checkouts';
  readonly at: Instant;
  /** The first ones; the numbers count all. */
  readonly stuck: readonly ToldStuck[];
  readonly over: readonly ToldOver[];
  readonly stuckCount: number;
  readonly overCount: number;
  readonly reasons: readonly ToldReason[];
  readonly causes: readonly { readonly cause: string; readonly why: string | null }[];
  readonly isTest: boolean;
}

const OUTCOMES = ['got_on', 'left', 'paid', 'stopped', 'expired', 'uncounted'] as const satisfies readonly CheckoutOutcome[];

/** Reads such an event; null when it is another one, or names no checkout. */
export function readCheckouts(event: Fields, data: Fields): Checkouts | null {
  const at = instant(event.timestamp);
  if (event.type !== 'incident.checkouts' || at === null) return null;
  const stuck = list(data.stuck).flatMap((each) => readStuck(fields(each)) ?? []);
  const over = list(data.over).flatMap((each) => readOver(fields(each)) ?? []);
  if (stuck.length + over.length === 0) return null;
  return {
    kind: 'checkouts',
    at,
    stuck,
    over,
    stuckCount: Math.max(count(data.stuckCount) ?? 0, stuck.length),
    overCount: Math.max(count(data.overCount) ?? 0, over.length),
    reasons: list(data.reasons).flatMap((each) => readReason(fields(each)) ?? []),
    causes: list(data.causes).flatMap((entry) => {
      const cause = text(fields(entry).cause);
      return cause === null ? [] : [{ cause, why: text(fields(entry).why) }];
    }),
    isTest: data.test === true,
  };
}

/** Several events as one, the oldest first: a checkout that is over by the later ones is not stuck any more. */
export function joined(events: readonly Checkouts[]): Checkouts {
  const keyOf = ({ site, purchaseId, since }: NamedCheckout): string => `${site} ${purchaseId} ${since}`;
  const last = events.at(-1)!;
  const over = new Map(events.flatMap((event) => event.over.map((each) => [keyOf(each), each])));
  const stuck = new Map(events.flatMap((event) => event.stuck.map((each) => [keyOf(each), each])));
  const unnamed = (of: (event: Checkouts) => number): number => events.reduce((sum, event) => sum + of(event), 0);
  for (const key of over.keys()) stuck.delete(key);
  const reasons = new Map(events.flatMap((event) => event.reasons.map((each) => [`${each.site} ${each.state.value}`, each])));
  const here = ({ site, state: { value } }: ToldReason): number =>
    [...stuck.values()].filter((each) => each.site === site && each.state.value === value).length;
  return {
    ...last,
    stuck: [...stuck.values()],
    over: [...over.values()],
    stuckCount: stuck.size + unnamed((event) => event.stuckCount - event.stuck.length),
    overCount: over.size + unnamed((event) => event.overCount - event.over.length),
    reasons: [...reasons.values()].map((reason) => ({ ...reason, count: here(reason) })).filter((reason) => reason.count > 0),
    causes: events.findLast(({ causes }) => causes.length > 0)?.causes ?? [],
  };
}

function readNamed(data: Fields): NamedCheckout | null {
  const [site, itsState, purchaseId, since] = [text(data.site), state(data.state), text(data.purchaseId), instant(data.since)];
  if (site === null || itsState === null || purchaseId === null || since === null) return null;
  const money = { price: digits(data.price), currency: text(data.currency) };
  return { site, state: itsState, purchaseId, orderReference: text(data.orderReference), ...money, since };
}

function readStuck(data: Fields): ToldStuck | null {
  const named = readNamed(data);
  return named === null ? null : { ...named, limitMs: count(data.limitMs) };
}

function readOver(data: Fields): ToldOver | null {
  const [named, overAt] = [readNamed(data), instant(data.overAt)];
  const outcome = OUTCOMES.find((word) => word === data.outcome);
  if (named === null || overAt === null || outcome === undefined) return null;
  return { ...named, outcome, to: state(data.to), overAt };
}

function readReason(data: Fields): ToldReason | null {
  const [site, itsState] = [text(data.site), state(data.state)];
  if (site === null || itsState === null) return null;
  return {
    site,
    state: itsState,
    mode: data.mode === 'each' ? 'each' : 'auto',
    counted: count(data.counted) ?? 0,
    perDay: quantity(data.perDay),
    isLast: data.isLast === true,
    count: count(data.count) ?? 0,
    lastWellAt: instant(data.lastWellAt),
  };
}
