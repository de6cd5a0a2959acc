/** How subscribers and channels, and what is sent to them, are called and marked on every page. */
import type { OverviewBody } from '../../api/overview/overview.ts';
import type { SubscriberAttemptsBody } from '../../api/subscribers/attempts.ts';
import type { DeliveryBody } from '../../api/subscribers/fields.ts';
import { audienceOfKind } from '../../channels/registry.ts';
import { counted } from '../../domain/values/counts.ts';
import { type Html, html, NOTHING, number } from '../frame/html.ts';
import { type Shape, status } from '../frame/icons.ts';

/** A subscriber or channel as the overview shows it. */
export type Receiver = OverviewBody['subscribers'][number];

/** Whether people read what it gets. */
export function isForPeople({ kind }: Pick<Receiver, 'kind'>): boolean {
  return audienceOfKind(kind) === 'people';
}

/** Whether nothing is sent to it until its pause ends, its way is mended or a person switches it on. */
export function isHeld({ health }: Pick<Receiver, 'health'>): boolean {
  return health.status === 'paused' || health.status === 'off' || health.status === 'unreached';
}

const HEALTH_SHAPES = { ok: 'ok', failing: 'warning', unreached: 'warning', paused: 'paused', off: 'off' } as const;

export function healthMark({ health }: Pick<Receiver, 'health'>): Html {
  return status(HEALTH_SHAPES[health.status], health.status);
}

const DELIVERY_SHAPES: Readonly<Record<DeliveryBody['status'], Shape>> = {
  pending: 'waiting',
  in_flight: 'waiting',
  parked: 'parked',
  delivered: 'ok',
  exhausted: 'critical',
  suppressed: 'off',
};

/** Where a delivery stands, in one word. */
export function deliveryMark({ status: is }: Pick<DeliveryBody, 'status'>, word: string = is): Html {
  return status(DELIVERY_SHAPES[is], word, is === 'exhausted' ? 'fail' : DELIVERY_SHAPES[is]);
}

/** The deliveries that wait for a receiver, in words; empty when none does. */
export function waitingText({ waiting: { pending, inFlight, parked, atLeast } }: Pick<Receiver, 'waiting'>): string {
  const most = atLeast ? 'at least ' : '';
  const parts = [
    ...(parked === 0 ? [] : [`${most}${counted(parked, 'delivery is parked', 'deliveries are parked')}`]),
    ...(pending + inFlight === 0 ? [] : [`${most}${counted(pending + inFlight, 'delivery waits', 'deliveries wait')}`]),
  ];
  return parts.join(', ');
}

/** A filter in words. */
export function listText(list: readonly (string | number)[] | null, all = 'all'): string {
  return list === null ? all : list.join(', ');
}

type Attempt = SubscriberAttemptsBody['data'][number];

/** The outcome of an attempt. */
export function outcomeMark({ outcome, httpStatus, fault }: Omit<Attempt, 'delivery'>): Html {
  const word = httpStatus === null ? outcome : String(httpStatus);
  if (outcome === 'delivered') return status('ok', word);
  const ours = fault === 'ours' && html` <span class="mute">a fault on this side</span>`;
  const more = httpStatus !== null && outcome !== `http_${httpStatus}` && html` <span class="mute">${outcome}</span>`;
  return html`${status('critical', word, 'fail')}${more}${ours}`;
}

/** Of an answer so much is shown at once. */
const SHORT_ANSWER = 100;

/** The beginning of what a receiver answered; of a long one the rest opens without a mouse. */
export function excerptText(excerpt: string | null): Html {
  if (excerpt === null || excerpt === '') return NOTHING;
  if (excerpt.length <= SHORT_ANSWER) return html`<code class="answer"><bdi>${excerpt}</bdi></code>`;
  return html`<details class="answer"><summary><code><bdi>${excerpt.slice(0, SHORT_ANSWER).toWellFormed()}…</bdi></code></summary><code><bdi>${excerpt}</bdi></code></details>`;
}

/** The answer's beginning within a sentence, cut: the page of the delivery has all of it. */
export function excerptInLine(excerpt: string | null): Html {
  return excerpt === null || excerpt === '' ? NOTHING : html`<code><bdi class="clip" title="${excerpt}">${excerpt}</bdi></code>`;
}

/** `48 ms`, `2.1 s`. */
export function took(ms: number): string {
  return ms < 1_000 ? `${number(ms)}\u00a0ms` : `${(ms / 1_000).toFixed(1)}\u00a0s`;
}
