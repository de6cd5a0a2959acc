/** Goes through a recorded time again under given settings, and reads which alerts were really sent in it. Writes nothing. */

import { readPeopleEvent } from '../../domain/events/people-event-types.ts';
import type { ChannelRule } from '../../domain/incidents/audience.ts';
import type { AlertPolicy } from '../../domain/incidents/incident.ts';
import type { PollPolicy } from '../../domain/polling/poll-plan.ts';
import { createRehearsal } from '../../domain/rehearsal/rehearsal.ts';
import type { RehearsalResult } from '../../domain/rehearsal/rehearsal-result.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import {
  type RecordedMessage,
  readingPast,
  recordedMessages,
  recordedOutages,
  recordedOverdue,
  recordedSilences,
  recordedStays,
  type StateChoice,
} from '../../postgres/stays/recorded-stays.ts';

/** So long before, stays teach what is usual: as long as the daemon looks back. */
const WARM_UP: Milliseconds = 14 * DAY;
/** The shortest limit that is ever learned. */
const LEAST_LEARNED: Milliseconds = 5 * 60_000;

export interface RehearseOptions {
  readonly from: Instant;
  readonly to: Instant;
  readonly policy: PollPolicy;
  readonly alerts: AlertPolicy;
  readonly channels: readonly ChannelRule[];
  /** Only this site; null: all. */
  readonly site: string | null;
  /** Whether silences hold as they did. */
  readonly silences: boolean;
  /** How far it is: stays so far, and how much of the time lies behind, from 0 to 1. */
  onProgress?(stays: number, share: number): void;
}

export interface Rehearsed extends RehearsalResult {
  /** From when on recorded stays taught what is usual; null: there were none before. */
  readonly taughtSince: Instant | null;
  /** What really happened in that time. */
  readonly really: { readonly messages: readonly RecordedMessage[]; readonly overdue: number };
}

/** Rehearses on one moment's view of the database, in memory that does not grow with the time gone through. */
export function rehearse(sql: Sql, options: RehearseOptions): Promise<Rehearsed> {
  const { from, to, policy, site, onProgress = () => undefined } = options;
  const taughtFrom = from - WARM_UP;
  return readingPast(sql, async (past) => {
    const outages = await recordedOutages(past, { from: taughtFrom, to, site });
    const silences = options.silences ? await recordedSilences(past, { from: taughtFrom, to }) : [];
    const rehearsal = createRehearsal({ ...options, outages, silences });
    const wanted = { from: taughtFrom, to, site, states: limitedStates(policy), long: shortestLimit(policy) };
    let taughtSince: Instant | null = null;
    let stays = 0;
    for await (const some of recordedStays(past, wanted)) {
      const [first] = some;
      if (stays === 0 && first !== undefined && first.enteredAt < from) taughtSince = Math.max(first.enteredAt, taughtFrom);
      rehearsal.take(some);
      stays += some.length;
      onProgress(stays, Math.max(0, ((some.at(-1)?.enteredAt ?? taughtFrom) - taughtFrom) / (to - taughtFrom)));
    }
    const result = rehearsal.finish();
    const messages = (await recordedMessages(past, { from, to })).filter(({ body }) => isAboutPurchases(body, site));
    return { ...result, taughtSince, really: { messages, overdue: await recordedOverdue(past, { from, to, site }) } };
  });
}

/** The states in which a purchase can become overdue. */
function limitedStates({ states, fallback }: PollPolicy): StateChoice {
  const others = fallback.stuckAfter !== null;
  return { listed: [...states].filter(([, { stuckAfter }]) => (stuckAfter === null) === others).map(([state]) => state), others };
}

function shortestLimit({ states, fallback }: PollPolicy): Milliseconds {
  const limits = [...states.values(), fallback].map(({ stuckAfter, auto }) => (auto ? LEAST_LEARNED : stuckAfter));
  return limits.reduce<Milliseconds>((least, limit) => Math.min(least, limit ?? least), Number.MAX_SAFE_INTEGER);
}

/** What depends on these settings: messages about stuck purchases and sites, and of these one site's alone if one is named. */
function isAboutPurchases(body: string, site: string | null): boolean {
  const data = readPeopleEvent(body)?.data;
  switch (data?.kind) {
    case 'stuck':
      return site === null || data.site === site || data.parts.some((part) => part.site === site);
    case 'unreachable':
      return site === null || data.site === site;
    case 'checkouts':
      return site === null || [...data.stuck, ...data.over].some((checkout) => checkout.site === site);
    default:
      return false;
  }
}
