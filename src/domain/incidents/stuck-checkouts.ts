/**
 * Alerts about single stuck checkouts. Incidents judge a page by the share of stuck customers; while too little is known of
 * a state at a site, each stuck checkout alerts people by itself. Pure: the judge and a rehearsal decide here.
 */

import { isGoodExit } from '../stays/stay.ts';
import { type CountedUsual, ENOUGH_STAYS } from '../stays/usual.ts';
import { dueAfter } from '../values/clock-steps.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import { audienceOf, type ChannelRule, modeOf } from './audience.ts';
import { type AlertPolicy, type Silence, silencedUntil } from './incident.ts';

/** With fewer customers a day, an incident opens many hours after a page broke. */
const ENOUGH_PER_DAY = 20;
/** More stuck purchases of a site's first load than this are a backlog: the first look reports it. */
export const MOST_AT_FIRST_LOOK = 20;
/** A first look waits so long at most for further stuck purchases of the first load. */
export const MOST_GATHERED: Milliseconds = 5 * 60_000;

/** Whether enough is known of a state at a site to judge a page by its share of stuck customers. */
export function isShareKnown({ share, perDay }: Pick<CountedUsual, 'share' | 'perDay'>): boolean {
  return share !== null && perDay !== null && perDay >= ENOUGH_PER_DAY;
}

/** When the first look at a site alerts people: `groupWait` after a purchase of the first load got stuck last, and five minutes after the first one at the latest. */
export function firstLookAt(
  { foundAt, lastAt }: { readonly foundAt: Instant; readonly lastAt: Instant },
  { groupWait }: Pick<AlertPolicy, 'groupWait'>,
): Instant {
  return Math.min(Math.max(foundAt, lastAt) + groupWait, foundAt + MOST_GATHERED);
}

/** How a stuck checkout ended. `paid`: its order was paid by another purchase. `uncounted`: its state lost its limit. `readable`: it can be read again. */
export const CHECKOUT_OUTCOMES = ['got_on', 'left', 'paid', 'stopped', 'expired', 'uncounted', 'readable'] as const;
export type CheckoutOutcome = (typeof CHECKOUT_OUTCOMES)[number];

/** How a checkout ended, from what is recorded of its purchase. */
export function checkoutOutcome(end: {
  readonly toState: number | null;
  readonly isPaid: boolean;
  readonly status: string;
  /** Why the purchase could not be read; null: it was stuck. */
  readonly unreadable?: string | null;
}): CheckoutOutcome {
  const unwatched = end.status === 'stopped' || end.status === 'expired' ? end.status : null;
  if (end.unreadable != null) return unwatched ?? 'readable';
  if (end.toState !== null && isGoodExit(end.toState)) return 'got_on';
  if (end.isPaid) return 'paid';
  return end.toState === null ? (unwatched ?? 'uncounted') : 'left';
}

/** A stay in a state of a site that became stuck. */
export interface StuckCheckout {
  readonly id: number;
  readonly site: string;
  readonly state: number;
  /** When a poll confirmed it as stuck. */
  readonly stuckAt: Instant;
  /** One of a backlog that the first look reports. */
  readonly isBacklog: boolean;
  /** Names of the channels that were alerted of it; null before. */
  readonly alerted: readonly string[] | null;
  /** When it was over; null while the customer is stuck. */
  readonly overAt: Instant | null;
}

/** Why stuck checkouts of a place alert by themselves. */
export interface SingleReason {
  readonly site: string;
  readonly state: number;
  readonly mode: 'auto' | 'each';
  readonly counted: number;
  readonly perDay: number | null;
  /** From here on incidents alert instead. */
  readonly isLast: boolean;
}

/** One message, and who gets it. */
export interface CheckoutAlert<Checkout> {
  readonly channels: readonly string[];
  readonly stuck: readonly Checkout[];
  readonly over: readonly Checkout[];
  /** One for each place of those that are stuck. */
  readonly reasons: readonly SingleReason[];
}

export interface CheckoutSituation<Checkout extends StuckCheckout> {
  readonly now: Instant;
  /** Checkouts of which no channel was alerted yet, and those that are over; others change nothing. */
  readonly checkouts: readonly Checkout[];
  readonly channels: readonly ChannelRule[];
  readonly silences: readonly Silence[];
  readonly policy: Pick<AlertPolicy, 'groupWait' | 'groupInterval'>;
  known(site: string, state: number): CountedUsual;
  /** Whether an incident of stuck customers is open for this state of this site. */
  hasIncident(site: string, state: number): boolean;
  /** Whether the last alert about the place was a single one, which did not say that incidents take over. */
  isSingle(site: string, state: number): boolean;
}

/**
 * Plans the alerts of now. All that is there when the first one has waited for `groupWait` goes together. No channel is alerted of those
 * that are `dropped`: they came and went, or something else reports them.
 */
export function planCheckouts<Checkout extends StuckCheckout>(situation: CheckoutSituation<Checkout>) {
  const { now, checkouts } = situation;
  const fresh = checkouts.filter(({ alerted }) => alerted === null);
  const gone = fresh.filter(({ overAt }) => overAt !== null);
  const stuck = fresh.filter(({ overAt }) => overAt === null);
  const silence = (each: Checkout): Instant | null =>
    silencedUntil({ kind: 'stuck', site: each.site, state: each.state, subscriber: null }, situation.silences, now);
  const audible = stuck.filter((each) => silence(each) === null);
  const over = checkouts.filter((each) => each.alerted !== null && each.overAt !== null && !isHeld(each, situation));
  const dueAt = Math.min(
    ...audible.map((each) => dueAfter(each.stuckAt, waitOf(each, situation), now)),
    ...over.map(({ overAt }) => dueAfter(overAt!, situation.policy.groupWait, now)),
  );
  if (dueAt > now) {
    const next = Math.min(dueAt, ...stuck.map((each) => silence(each) ?? Number.POSITIVE_INFINITY));
    return { alerts: [], dropped: gone, lookAgainAt: Number.isFinite(next) ? next : null };
  }
  const addressed = audible.map((each) => ({ each, channels: each.isBacklog ? [] : audienceOfSingle(each, situation) }));
  const groups = new Map<string, { channels: readonly string[]; stuck: Checkout[]; over: Checkout[] }>();
  const groupOf = (channels: readonly string[]) => {
    const key = channels.toSorted().join(' ');
    const group = groups.get(key) ?? { channels, stuck: [], over: [] };
    groups.set(key, group);
    return group;
  };
  for (const { each, channels } of addressed) if (channels.length > 0) groupOf(channels).stuck.push(each);
  for (const each of over) groupOf(each.alerted ?? []).over.push(each);
  return {
    alerts: [...groups.values()].map((group): CheckoutAlert<Checkout> => ({ ...group, reasons: reasonsOf(group, situation) })),
    dropped: [...gone, ...addressed.filter(({ channels }) => channels.length === 0).map(({ each }) => each)],
    lookAgainAt: null,
  };
}

/** While an incident is open, a channel that wants each checkout gets them in fewer messages. */
function waitOf({ site, state }: StuckCheckout, { policy, hasIncident }: Readings): Milliseconds {
  return hasIncident(site, state) ? Math.max(policy.groupWait, policy.groupInterval) : policy.groupWait;
}

type Readings = Omit<CheckoutSituation<StuckCheckout>, 'checkouts'>;

/** An incident reports its state alone; the end of what was alerted before waits until the incident is over. */
function isHeld({ site, state, alerted }: StuckCheckout, { channels, hasIncident }: Readings): boolean {
  if (!hasIncident(site, state)) return false;
  const reached = channels.filter(({ name }) => alerted?.includes(name));
  return reached.some((channel) => modeOf(channel) !== 'each');
}

/** The channels that a single checkout alerts. */
function audienceOfSingle({ site, state }: StuckCheckout, { channels, known, hasIncident, isSingle }: Readings): string[] {
  const isAuto = !hasIncident(site, state) && (!isShareKnown(known(site, state)) || isSingle(site, state));
  const wanting = channels.filter((channel) => modeOf(channel) === 'each' || (modeOf(channel) === 'auto' && isAuto));
  return audienceOf({ kind: 'stuck', severity: 0, subscriber: null }, [site], wanting);
}

function reasonsOf(
  group: { readonly channels: readonly string[]; readonly stuck: readonly StuckCheckout[] },
  { channels, known }: Readings,
): SingleReason[] {
  const isAuto = channels.some((channel) => group.channels.includes(channel.name) && modeOf(channel) === 'auto');
  const places = new Map(group.stuck.map(({ site, state }) => [`${site} ${state}`, { site, state }]));
  return [...places.values()].map(({ site, state }) => {
    const { counted, share, perDay } = known(site, state);
    const isLast = isAuto && isShareKnown({ share, perDay });
    return { site, state, mode: isAuto ? 'auto' : 'each', counted, perDay, isLast };
  });
}

/** Why a stuck checkout alerts people by itself, in words that follow "because". */
export function tooLittleKnown({ counted, perDay }: Pick<SingleReason, 'counted' | 'perDay'>): string {
  if (counted < ENOUGH_STAYS)
    return `only ${counted} ${counted === 1 ? 'stay is' : 'stays are'} counted (${ENOUGH_STAYS} are needed)`;
  const few = perDay === null || perDay < 1 ? 'fewer than one customer a day comes' : `only ${customersADay(perDay)} come`;
  return `${few} (${ENOUGH_PER_DAY} are needed)`;
}

/** The counts of a state at a site whose share can be judged, in words. */
export function enoughKnown({ counted, perDay }: Pick<SingleReason, 'counted' | 'perDay'>): string {
  return `${counted} stays are counted and ${customersADay(perDay)} come`;
}

/** Rounded down: 19.6 are not yet 20. */
function customersADay(perDay: number | null): string {
  const whole = Math.floor(perDay ?? 0);
  return `about ${whole} ${whole === 1 ? 'customer' : 'customers'} a day`;
}
