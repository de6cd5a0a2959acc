/** A receiver as a developer wants it: checks, remembers, and answers well or, when asked to, badly. */

import type { Milliseconds } from '../domain/values/time.ts';
import { randomUUID } from '../runtime/random.ts';
import { delay } from '../runtime/time.ts';
import { cameBack, forward } from './forward.ts';
import { type ArrivedEvent, judge, type Keys } from './genuine.ts';
import { type ArrivalOrder, createJournal } from './journal.ts';
import type { PostAnswer, Posted } from './posts.ts';

/** A verified event and its answer. */
export interface Taken {
  readonly event: ArrivedEvent;
  readonly place: ArrivalOrder;
  readonly at: Posted['at'];
  readonly status: number;
  /** The reason of an answer other than the receiver's usual one; null for the usual one. */
  readonly why: string | null;
  /** Answered 500 because the first tries were to fail: the daemon sends the event again. */
  readonly failed: boolean;
}

export interface Manners {
  readonly keys: Keys;
  /** The status of the answer to a verified event, unless it is forwarded. */
  readonly status: number;
  /** How long the receiver waits before it answers. */
  readonly delay: Milliseconds;
  /** So many tries of each event are answered 500. */
  readonly fail: number;
  /** Where events are passed on; the answer there is the receiver's answer. */
  readonly forwardTo: string | null;
  /** Answers true to keep an event to itself: it is answered 200 and not reported. */
  isOwn?(event: ArrivedEvent): boolean;
  onEvent(taken: Taken): void;
  onRefused(detail: string, posted: Posted): void;
}

/** Whether a sender takes an answer for a yes. */
export function isYes(status: number): boolean {
  return status >= 200 && status < 300;
}

/** The status for a sender that did not wait for its answer. */
const GIVEN_UP = 503;
/** The status for a request that came back. */
const LOOP = 508;

/** Makes the function that answers requests. Every verified request is reported once, when its answer is known. */
export function createReceiver({ onEvent, onRefused, ...manners }: Manners): (posted: Posted) => Promise<PostAnswer> {
  const journal = createJournal();
  const self = randomUUID();
  return async (posted) => {
    const verdict = judge(posted, manners.keys);
    if (verdict.kind === 'refused') {
      onRefused(verdict.detail, posted);
      return { status: verdict.reason === 'not_an_event' ? 400 : 401, body: `${verdict.detail}\n` };
    }
    const { event } = verdict;
    if (manners.isOwn?.(event)) return { status: 200, body: 'ok\n' };
    const place = journal.enter(event);
    const failed = place.time <= manners.fail;
    const { answer, why } = await answerTo(
      posted,
      failed ? `${ordinal(place.time)} try, and ${manners.fail} are to fail` : null,
      { ...manners, self },
    );
    if (isYes(answer.status)) journal.taken(event.id);
    onEvent({ event, place, at: posted.at, status: answer.status, why, failed });
    return answer;
  };
}

async function answerTo(
  posted: Posted,
  failing: string | null,
  { status, delay: pause, forwardTo, self }: Pick<Manners, 'status' | 'delay' | 'forwardTo'> & { readonly self: string },
): Promise<{ answer: PostAnswer; why: string | null }> {
  if (cameBack(posted, self)) {
    const why = 'it was passed on from here and came back; look at where each listener passes on to';
    return { answer: { status: LOOP, body: `${why}\n` }, why };
  }
  if (pause > 0) {
    await delay(pause, undefined, { signal: posted.signal }).catch(() => undefined);
    if (posted.signal.aborted) return { answer: { status: GIVEN_UP, body: '' }, why: 'the sender did not wait so long' };
  }
  if (failing !== null) return { answer: { status: 500, body: `${failing}\n` }, why: failing };
  if (forwardTo === null) return { answer: { status, body: status === 204 || status === 304 ? '' : `${status}\n` }, why: null };
  const forwarded = await forward(forwardTo, posted, self);
  if (forwarded.answer !== null) return { answer: forwarded.answer, why: `from ${forwardTo}` };
  return { answer: { status: 502, body: `${forwarded.detail}\n` }, why: `${forwardTo}: ${forwarded.detail}` };
}

function ordinal(count: number): string {
  const tens = count % 100;
  return `${count}${tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th')}`;
}
