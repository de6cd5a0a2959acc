/** Goes through a recorded time again under given settings, and reads which alerts were really sent in it. Writes nothing. */

import { readPeopleEvent } from '../../domain/events/people-event-types.ts';
import type { ChannelRule } from '../../domain/incidents/audience.ts';
import type { AlertPolicy } from '../../domain/incidents/incident.ts';
import { type PollPolicy, policyOf } from '../../domain/polling/poll-plan.ts';
import { createRehearsal } from '../../domain/rehearsal/rehearsal.ts';
import type { RehearsalResult } from '../../domain/rehearsal/rehearsal-result.ts';
import { createPaymentRehearsal, type RehearsedPaidTwice } from '../../domain/rehearsal/rehearsed-payments.ts';
import { asksForRisk } from '../../domain/rehearsal/rehearsed-risks.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import type { Queries, Sql } from '../../postgres/connection/database.ts';
import {
  type ReadBounds,
  readingPast,
  recordedMessages,
  recordedOutages,
  recordedPayments,
  recordedSilences,
  recordedStays,
  recordedStuck,
  type StateChoice,
} from '../../postgres/stays/recorded-stays.ts';

/** So long before, stays teach what is usual: as long as the daemon looks back. */
const WARM_UP: Milliseconds = 14 * DAY;
/** The shortest limit that is ever learned. */
const LEAST_LEARNED: Milliseconds = 5 * 60_000;

/** The settings that decide about alerts. */
export interface AlertRules {
  readonly policy: PollPolicy;
  readonly alerts: AlertPolicy;
  readonly channels: readonly ChannelRule[];
}

export interface RehearseOptions extends AlertRules {
  readonly from: Instant;
  readonly to: Instant;
  /** Rehearsed beside the others, in the same reading of the records; absent or null: nothing is. */
  readonly present?: AlertRules | null;
  /** Only this site; null: all. */
  readonly site: string | null;
  /** Whether silences hold as they did. */
  readonly silences: boolean;
  readonly bounds?: ReadBounds;
  /**
   * How far it is: stays so far, and how much of the time lies behind, from 0 to 1. The rehearsal waits until the promise that it
   * answers resolves, and ends when that rejects.
   */
  onProgress?(stays: number, share: number): void | Promise<void>;
}

/** Alerts that would have been sent under some settings. */
export interface RehearsedRules extends RehearsalResult {
  readonly paidTwice: readonly RehearsedPaidTwice[];
}

export type Rehearsed = Awaited<ReturnType<typeof rehearse>>;

/** Rehearses on one moment's view of the database, in memory that does not grow with the time gone through. */
export function rehearse(sql: Sql, options: RehearseOptions) {
  const { from, to, site, present = null, bounds = {}, onProgress = () => undefined } = options;
  const taughtFrom = from - WARM_UP;
  const work = async (past: Queries) => {
    const outages = await recordedOutages(past, { from: taughtFrom, to, site });
    const silences = options.silences ? await recordedSilences(past, { from: taughtFrom, to }) : [];
    const under = (rules: AlertRules) => createRehearsal({ ...rules, from, to, outages, silences });
    const tried = under(options);
    const beside = present === null ? null : under(present);
    const policies = [options.policy, ...(present === null ? [] : [present.policy])];
    const wanted = {
      from: taughtFrom,
      to,
      site,
      states: limitedStates(policies),
      long: shortestLimit(policies),
      risks: policies.some(asksForRisk),
    };
    let taughtSince: Instant | null = null;
    let stays = 0;
    for await (const some of recordedStays(past, wanted, bounds)) {
      const [first] = some;
      if (stays === 0 && first !== undefined && first.enteredAt < from) taughtSince = Math.max(first.enteredAt, taughtFrom);
      tried.take(some);
      beside?.take(some);
      stays += some.length;
      await onProgress(stays, Math.max(0, ((some.at(-1)?.enteredAt ?? taughtFrom) - taughtFrom) / (to - taughtFrom)));
    }
    const payments = createPaymentRehearsal({ ...options, from });
    const paymentsBeside = present === null ? null : createPaymentRehearsal({ ...present, from });
    for await (const some of recordedPayments(past, { from: taughtFrom, to, site }, bounds)) {
      payments.take(some);
      paymentsBeside?.take(some);
    }
    const messages = (await recordedMessages(past, { from, to })).filter(({ body }) => isAboutPurchases(body, site));
    const really = { messages, overdue: await recordedStuck(past, { from, to, site }) };
    return {
      ...tried.finish(),
      paidTwice: payments.messages(to),
      /** Sites where an order that was paid twice is no news at the end of the time. */
      reusing: payments.reusing(),
      /** Under the settings that are rehearsed beside; null where there are none. */
      present: beside === null ? null : { ...beside.finish(), paidTwice: paymentsBeside!.messages(to) },
      /** From when on recorded stays taught what is usual; null: there were none before. */
      taughtSince,
      /** All that really happened in that time. */
      really,
    };
  };
  return readingPast(sql, work, bounds);
}

/** The states in which a purchase can become stuck by any of the policies. */
function limitedStates(policies: readonly PollPolicy[]): StateChoice {
  const others = policies.some(({ fallback }) => fallback.stuckAfter !== null);
  const isLimited = (state: number): boolean => policies.some((policy) => policyOf(policy, state).stuckAfter !== null);
  const named = new Set(policies.flatMap(({ states }) => [...states.keys()]));
  return { listed: [...named].filter((state) => isLimited(state) !== others), others };
}

function shortestLimit(policies: readonly PollPolicy[]): Milliseconds {
  const all = policies.flatMap(({ states, fallback }) => [...states.values(), fallback]);
  const limits = all.map(({ stuckAfter, auto }) => (auto ? LEAST_LEARNED : stuckAfter));
  return limits.reduce<Milliseconds>((least, limit) => Math.min(least, limit ?? least), Number.MAX_SAFE_INTEGER);
}

/** Whether an alert is one that the rehearsed settings decide: about stuck purchases, a site or an order, of `site` if one is named. */
function isAboutPurchases(body: string, site: string | null): boolean {
  const data = readPeopleEvent(body)?.data;
  switch (data?.kind) {
    case 'stuck':
      return site === null || data.site === site || data.parts.some((part) => part.site === site);
    case 'unreachable':
      return site === null || data.site === site;
    case 'checkouts':
      return site === null || [...data.stuck, ...data.over].some((checkout) => checkout.site === site);
    case 'paid_twice':
      return site === null || data.site === site;
    default:
      return false;
  }
}
