/**
 * Days of a shop in a second: customers of the simulator, its clock in the test's hand, every purchase polled as the plan
 * says and decided as the daemon does, and the stays judged moment by moment.
 */

import TinyQueue from 'tinyqueue';
import type { Control } from '../../packages/simulator/src/contract/control.ts';
import type { LifeName } from '../../packages/simulator/src/contract/names.ts';
import { drawLifeName } from '../../packages/simulator/src/purchases/lives.ts';
import { createSimulator } from '../../packages/simulator/src/simulator.ts';
import { createRandom, type Random } from '../../packages/simulator/src/values/random.ts';
import { decide } from '../../src/domain/deciding/decide.ts';
import type { ChannelRule } from '../../src/domain/incidents/audience.ts';
import type { AlertPolicy } from '../../src/domain/incidents/incident.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf } from '../../src/domain/polling/poll-plan.ts';
import type { Purchase } from '../../src/domain/purchases/purchase.ts';
import { checkoutEnd } from '../../src/domain/purchases/states.ts';
import { createRehearsal } from '../../src/domain/rehearsal/rehearsal.ts';
import type { RehearsalResult } from '../../src/domain/rehearsal/rehearsal-result.ts';
import type { RecordedStay } from '../../src/domain/stays/recorded-stay.ts';

const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** A Monday. */
export const START = Date.UTC(2026, 10, 16);

const ALERTS: AlertPolicy = {
  groupWait: 30 * SECOND,
  quietFor: 10 * MINUTE,
  groupInterval: 5 * MINUTE,
  repeatInterval: 4 * HOUR,
};
const CHANNEL: ChannelRule = { name: '@slack', sites: null, severity: 'warning' };
const REGISTERED_AFTER = SECOND;
/** A request and its answer. */
const ROUND_TRIP = 100;

export interface ShopOptions {
  readonly seed: number;
  readonly days: number;
  /** Customers an hour, by site. */
  readonly perHour: Readonly<Record<string, number>>;
  /** What every customer does; drawn from the simulator's mix unless given. */
  readonly life?: LifeName;
  readonly policy?: PollPolicy;
  /** What happens when, in milliseconds from the start. */
  readonly happenings?: readonly (readonly [after: number, happen: (control: Control) => void])[];
  /** What is said before is not reported, in milliseconds from the start. */
  readonly from?: number;
}

export interface Shop extends RehearsalResult {
  /** Stays in states with a limit that began after `from`. */
  readonly entrants: number;
  readonly polls: number;
  /** Purchases that were announced as at risk, by the end they had; some are `open`. */
  readonly announced: { readonly told: number; readonly lost: number; readonly paid: number };
}

interface Watched {
  purchase: Purchase;
  nextAt: number;
  stay: Omit<RecordedStay, 'leftAt' | 'toState' | 'unwatchedAt'> | null;
}

export function simulateShop(options: ShopOptions): Shop {
  const { seed, days, perHour, life, happenings = [], policy = DEFAULT_POLL_POLICY, from = 0 } = options;
  const random = createRandom(seed + 1_000_000);
  let now = START;
  const sites = Object.keys(perHour).map((code) => ({ code, currency: 'SEK', country: code === 'fi' ? 'FIN' : 'SWE' }));
  const { control } = createSimulator({ seed, now: () => now, sites, keep: 1_000_000 });
  const end = START + days * DAY;
  const stays: RecordedStay[] = [];
  const queue = new TinyQueue<{ at: number; run: () => void }>([], (a, b) => a.at - b.at);
  let id = 0;
  let polls = 0;

  const poll = (watched: Watched): void => {
    const before = watched.purchase;
    const { state: is, price, currency } = control.get(before.purchaseId)!;
    const state = is.value;
    polls += 1;
    const outcome = decide(
      before,
      { kind: 'seen', state, details: { Price: Number(price), CurrencyCode: currency }, detailsDigest: '', digest: '' },
      { askedAt: now, now: now + ROUND_TRIP, policy, spread: random() * 2 - 1, strikes: 0 },
    );
    watched.purchase = outcome.purchase;
    if (outcome.events.some(({ type }) => type === 'purchase.at_risk')) {
      if (told.has(watched)) throw new Error(`${before.purchaseId} was announced twice`);
      told.add(watched);
    }
    const { seenAt, stateSince } = outcome.purchase;
    if (outcome.transition !== null) {
      if (watched.stay !== null) stays.push({ ...watched.stay, leftAt: seenAt, toState: state, unwatchedAt: null });
      const { site, purchaseId: customer } = before;
      const firstSight = outcome.transition.from === null;
      watched.stay = { site, state, customer, enteredAt: stateSince!, seenAt: seenAt!, paidAt: null, firstSight };
    } else if (watched.stay !== null) watched.stay = { ...watched.stay, seenAt: seenAt! };
    if (outcome.nextPollAt !== null) queue.push({ at: outcome.nextPollAt, run: () => poll(watched) });
    else if (watched.stay !== null && !policyOf(policy, state).final)
      stays.push({ ...watched.stay, leftAt: null, toState: null, unwatchedAt: now });
    if (policyOf(policy, state).final) watched.stay = null;
    if (watched.stay === null) open.delete(watched);
  };
  const open = new Set<Watched>();
  const told = new Set<Watched>();
  const arrive = (site: string, country: string, hourly: number): void => {
    const { purchaseId } = control.add({ site, script: life ?? drawLifeName(random, country) });
    id += 1;
    const watched: Watched = { purchase: newPurchase(id, site, purchaseId, now), nextAt: now, stay: null };
    open.add(watched);
    queue.push({ at: now + REGISTERED_AFTER, run: () => poll(watched) });
    queue.push({ at: now + gap(hourly, random), run: () => arrive(site, country, hourly) });
  };

  for (const { code, country } of sites)
    queue.push({ at: START + gap(perHour[code]!, random), run: () => arrive(code, country, perHour[code]!) });
  for (const [after, happen] of happenings) queue.push({ at: START + after, run: () => happen(control) });
  for (let next = queue.pop(); next !== undefined && next.at < end; next = queue.pop()) {
    now = next.at;
    next.run();
  }
  for (const { stay } of open) if (stay !== null) stays.push({ ...stay, leftAt: null, toState: null, unwatchedAt: null });

  const rehearsal = createRehearsal({
    from: START + from,
    to: end,
    policy,
    alerts: ALERTS,
    channels: [CHANNEL],
    silences: [],
    outages: [],
  });
  const limited = stays.filter(({ state }) => policyOf(policy, state).stuckAfter !== null);
  limited.sort((a, b) => a.enteredAt - b.enteredAt);
  rehearsal.take(limited);
  const entrants = limited.filter(({ enteredAt, firstSight }) => enteredAt >= START + from && !firstSight).length;
  const ended = (as: 'lost' | 'paid'): number =>
    [...told].filter(({ purchase: { status, state } }) => status === 'settled' && checkoutEnd(state!) === as).length;
  return { ...rehearsal.finish(), entrants, polls, announced: { told: told.size, lost: ended('lost'), paid: ended('paid') } };
}

function gap(hourly: number, random: Random): number {
  return (-Math.log(1 - random()) * HOUR) / hourly;
}

function newPurchase(id: number, site: string, purchaseId: string, at: number): Purchase {
  const nothing = { state: null, stateSince: null, stuckSince: null, atRiskSince: null, seenAt: null, invoice: null };
  const counts = { excused: 0, failures: 0, unknowns: 0, sequence: 0, revision: 0, polls: 0, shard: 0 };
  const attached = { reference: null, hasMetadata: false };
  return { id, site, purchaseId, status: 'watching', watchedSince: at, detailsDigest: null, ...attached, ...nothing, ...counts };
}
