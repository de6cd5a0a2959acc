/** The content of the picture of a purchase's life, made from the API's answers alone: of polls it has those that are known. */
import type { ExplanationBody } from '../../api/purchases/explanation-body.ts';
import type { PurchaseDetailsBody } from '../../api/purchases/purchases.ts';
import type { Instant } from '../../domain/values/time.ts';
import { type Stay, staysOf } from './stays.ts';

/** A dot, cross, tray or ring in the row of a subscriber. */
export interface Mark {
  readonly kind: 'delivered' | 'failed' | 'parked' | 'waiting';
  readonly at: Instant;
  readonly says: string;
}

/** Everything that has a place in time. */
export interface Life {
  readonly now: Instant;
  /** The scale; `to` is now while the purchase is polled, and soon after its last change when that is over. */
  readonly from: Instant;
  readonly to: Instant;
  /** The latest ones; `earlier` are left out. */
  readonly stays: readonly Stay[];
  readonly earlier: number;
  /** The last moment at which the present state was seen. */
  readonly seenAt: Instant;
  readonly polls: { readonly count: number; readonly failures: number; readonly known: readonly Instant[] };
  readonly next: Instant | null;
  readonly subscribers: readonly { readonly name: string; readonly marks: readonly Mark[] }[];
  readonly alerts: readonly { readonly at: Instant; readonly says: string }[];
  readonly invoiceAt: Instant | null;
}

/** Rows of states that a picture has at most. */
const MOST_STAYS = 12;
const MOST_SUBSCRIBERS = 12;

/** The life of a purchase that was seen at least once; null before. */
export function lifeOf(purchase: PurchaseDetailsBody, why: ExplanationBody): Life | null {
  const now = Date.parse(why.at);
  const stuckAt = why.steps.filter(({ kind, at }) => kind === 'stuck' && at !== null).map(({ at }) => Date.parse(at!));
  const all = staysOf(purchase.transitions, stuckAt);
  const stays = all.slice(-MOST_STAYS);
  const last = stays.at(-1);
  if (last === undefined) return null;
  const from =
    all.length > stays.length ? stays[0]!.came.notAfter : Math.min(Date.parse(purchase.registeredAt), stays[0]!.came.notAfter);
  const lastPoll = purchase.lastPolledAt === null ? null : Date.parse(purchase.lastPolledAt);
  const seenAt = Math.max(last.came.notAfter, last.stuckAt ?? 0, purchase.failures === 0 ? (lastPoll ?? 0) : 0);
  const isPolled = purchase.status === 'watching' || purchase.status === 'unreadable';
  const subscribers = subscribersOf(why);
  const alerts = why.steps.flatMap(({ kind, at, text }) =>
    kind === 'alert' && at !== null ? [{ at: Date.parse(at), says: text }] : [],
  );
  const invoice = why.steps.find(({ type }) => type === 'purchase.invoice_ready');
  const known = [
    ...all.flatMap(({ came: { notBefore, notAfter } }) => (notBefore === null ? [notAfter] : [notBefore, notAfter])),
    ...stuckAt,
    ...(lastPoll === null ? [] : [lastPoll]),
  ];
  return {
    now,
    from,
    stays,
    seenAt,
    subscribers,
    alerts,
    to: isPolled
      ? now
      : endOfScale(
          { from, last: last.came.notAfter, now },
          subscribers.flatMap(({ marks }) => marks.map(({ at }) => at)),
        ),
    earlier: all.length - stays.length,
    polls: {
      count: purchase.polls,
      failures: purchase.failures,
      known: [...new Set(known)].filter((at) => at >= from).sort((a, b) => a - b),
    },
    next: purchase.nextPollAt === null ? null : Date.parse(purchase.nextPollAt),
    invoiceAt: invoice?.at == null ? null : Date.parse(invoice.at),
  };
}

/** A little after the last change, with what was delivered until then; now, when that is near. */
function endOfScale({ from, last, now }: { from: Instant; last: Instant; now: Instant }, marks: readonly Instant[]): Instant {
  const span = Math.max(last - from, 1_000);
  const end = Math.max(last, ...marks.filter((at) => at < last + span / 2)) + span * 0.06;
  return now - end < span * 0.2 ? now : end;
}

/** A delivery stands at the moment at which it was settled; one that waits, at its event. */
function subscribersOf({ steps }: ExplanationBody): Life['subscribers'] {
  const eventAt = new Map(
    steps.flatMap(({ kind, eventId, at }) => (EVENTS.has(kind) && eventId && at !== null ? [[eventId, Date.parse(at)]] : [])),
  );
  const marks = new Map<string, Mark[]>();
  for (const { kind, subscriber, status, outcome, at, eventId, text } of steps) {
    if (subscriber === undefined || (kind !== 'delivery' && kind !== 'attempt')) continue;
    const of = marks.get(subscriber) ?? [];
    const moment = at === null ? eventAt.get(eventId ?? '') : Date.parse(at);
    const shown = kind === 'attempt' ? (outcome === 'delivered' ? undefined : 'failed') : DRAWN.get(status ?? '');
    if (shown === undefined || moment === undefined) continue;
    of.push({ kind: shown, at: moment, says: text });
    marks.set(subscriber, of);
  }
  return [...marks].slice(0, MOST_SUBSCRIBERS).map(([name, of]) => ({ name, marks: of.sort((a, b) => a.at - b.at) }));
}

const EVENTS: ReadonlySet<string> = new Set(['transition', 'event', 'stuck']);
const DRAWN: ReadonlyMap<string, Mark['kind']> = new Map([
  ['delivered', 'delivered'],
  ['parked', 'parked'],
  ['pending', 'waiting'],
  ['in_flight', 'waiting'],
]);
