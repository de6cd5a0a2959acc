/** Facts of a purchase to explain, whole and ordinary, different only in what is named. */
import { explainPurchase } from '../../../src/domain/explain/explain.ts';
import type {
  DeliveryFacts,
  Facts,
  PurchaseEventFacts,
  PurchaseFacts,
  SubscriberFacts,
} from '../../../src/domain/explain/facts.ts';
import type { ExplanationStep } from '../../../src/domain/explain/step.ts';
import { DEFAULT_POLL_POLICY } from '../../../src/domain/polling/poll-plan.ts';
import type { StuckLimit } from '../../../src/domain/stays/dwell.ts';
import { DEFAULT_DELIVERY_SCHEDULE } from '../../support/delivery-schedule.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const T = Date.UTC(2026, 10, 20, 9, 15);
export const [NEW, COMPLETED, CARD] = [0, 2, 6];

/** A purchase in WaitingForCardPayments for a minute, asked a second ago, at a time ten minutes after T. */
export const NOW = T + 10 * MINUTE;
export function aPurchase(differs: Partial<PurchaseFacts> = {}): PurchaseFacts {
  return {
    id: 1,
    purchaseId: 'p-1',
    site: 'se',
    reference: 'ORD-1',
    status: 'watching',
    state: CARD,
    stateSince: NOW - MINUTE,
    stuckSince: null,
    excused: 0,
    registeredAt: T,
    registeredBy: 'api',
    watchedSince: T,
    endedAt: null,
    lastPolledAt: NOW - SECOND,
    seenAt: NOW - SECOND,
    nextPollAt: NOW - SECOND + 5_900,
    nextPollReason: 'growth',
    polls: 12,
    failures: 0,
    unknowns: 0,
    lastError: null,
    invoice: null,
    sequence: 0,
    shard: 17,
    ...differs,
  };
}

export const aSubscriber = (differs: Partial<SubscriberFacts> = {}): SubscriberFacts => ({
  id: 1,
  name: 'shop',
  kind: 'webhook',
  audience: 'systems',
  types: null,
  sites: null,
  states: null,
  configured: true,
  status: 'active',
  statusReason: null,
  health: null,
  unreached: null,
  matchingSince: T - DAY,
  ...differs,
});
export const anEvent = (differs: Partial<PurchaseEventFacts> = {}): PurchaseEventFacts => ({
  position: 100,
  id: 'evt_1',
  type: 'purchase.state_changed',
  sequence: 1,
  state: CARD,
  at: NOW - MINUTE,
  ...differs,
});
export const aDelivery = (differs: Partial<DeliveryFacts> = {}): DeliveryFacts => ({
  id: 7,
  event: 100,
  subscriber: 1,
  status: 'pending',
  inFlightSince: null,
  replayed: false,
  attempts: 0,
  attemptsBefore: 0,
  dueAt: NOW,
  settledAt: null,
  lastError: null,
  behind: null,
  ...differs,
});

export const SILENCE = { takesWrites: true, silentMs: null };
export const RENAMED = { configured: false, renamedTo: 'no', failingSince: null, lastSuccessAt: null, lastError: null };
/** Daemons of which one knows se, and the other one no. */
export const TURNS: Facts['owner'] = {
  ...{ replica: 'a', leaseUntil: NOW + HOUR, replicas: 2, othersDue: 0, silence: SILENCE },
  sharing: [
    { id: 'a', startedAt: T, named: { sites: { no: [] }, subscribers: {} } },
    { id: 'b', startedAt: T, named: { sites: { se: [] }, subscribers: {} } },
  ],
};

export function theFacts({
  purchase = {},
  ...differs
}: Partial<Omit<Facts, 'purchase'>> & { purchase?: Partial<PurchaseFacts> } = {}): Facts {
  return {
    now: NOW,
    skipped: [],
    order: { payments: [], announcedAt: null, counts: { paid: 0, repeated: 0 } },
    purchase: aPurchase(purchase),
    site: { configured: true, failingSince: null, lastSuccessAt: NOW - SECOND, lastError: null },
    owner: { replica: 'rep_1', leaseUntil: NOW + 20 * SECOND, replicas: 1, othersDue: 0, silence: SILENCE },
    firstPoll: null,
    transitions: [{ sequence: 1, from: null, to: CARD, notBefore: null, notAfter: NOW - MINUTE }],
    events: [anEvent()],
    subscribers: [aSubscriber()],
    only: null,
    deliveries: [aDelivery({ status: 'delivered', attempts: 1, settledAt: NOW - MINUTE + 12 })],
    attempts: [{ delivery: 7, number: 1, at: NOW - MINUTE + 12, tookMs: 9, outcome: 'delivered', fault: null, httpStatus: 200 }],
    incidents: [],
    singles: [],
    firstLook: null,
    known: { share: null, perDay: null, counted: 0 },
    hasPeople: true,
    more: { transitions: 0, events: 0, subscribers: 0, deliveries: 0, attempts: 0 },
    ...differs,
  };
}

export const NO_LIMIT: StuckLimit = { ms: null, source: 'configured', dwell: null };
export const policy = { polling: DEFAULT_POLL_POLICY, schedule: DEFAULT_DELIVERY_SCHEDULE };
export const explained = (facts: Parameters<typeof theFacts>[0] = {}) => explainPurchase(theFacts(facts), policy);
export const texts = (steps: readonly ExplanationStep[], ...kinds: ExplanationStep['kind'][]): string[] =>
  steps.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind)).map(({ text }) => text);
