/** Which of the polls that are due goes first. */

import { isCustomerAtWork } from './poll-plan.ts';
import type { PollReason } from './poll-reason.ts';

/**
 * 0: asked for, or the first poll of a purchase that was registered by itself. 1: the customer is at work, at a bank or in the
 * form. 2: all others. 3: of a bulk registration.
 */
export type PollRank = 0 | 1 | 2 | 3;

/** The rank of a poll that is to come. `reason` is null where none was recorded. */
export function pollRank({
  reason,
  state,
  isBulk,
}: {
  readonly reason: PollReason | null;
  readonly state: number | null;
  readonly isBulk: boolean;
}): PollRank {
  if (reason === 'requested' || (!isBulk && (reason === 'first' || reason === 'renewed'))) return 0;
  if (state !== null && isCustomerAtWork(state)) return 1;
  return isBulk ? 3 : 2;
}

/** Of eight calls one looks at bulk registrations first, and one at the other later ranks, so that no rank starves. */
const TURNS = 8;
const BY_RANK: readonly PollRank[] = [0, 1, 2, 3];
const FROM_FIRST: readonly PollRank[] = [1, 2, 3, 0];
const FROM_SECOND: readonly PollRank[] = [2, 3, 1, 0];
const BULK_FIRST: readonly PollRank[] = [3, 2, 1, 0];

/** In which order ranks are looked at for the n-th call, n from 0. */
export function ranksInTurn(turn: number): readonly PollRank[] {
  if (turn % TURNS === TURNS - 1) return BULK_FIRST;
  if (turn % TURNS === TURNS / 2 - 1) return turn % (2 * TURNS) < TURNS ? FROM_FIRST : FROM_SECOND;
  return BY_RANK;
}
