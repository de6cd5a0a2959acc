/** Idle entries by rank and by the time at which they are due. */
import TinyQueue from 'tinyqueue';
import { type PollRank, ranksInTurn } from '../../../domain/polling/poll-rank.ts';
import type { Instant } from '../../../domain/values/time.ts';

interface Ranked {
  readonly rank: PollRank;
  readonly dueAt: Instant;
  readonly gone: boolean;
  readonly busy: boolean;
}

/** Empty heaps. An entry that is gone or busy stays in its heap until it comes to the top, and is dropped there. */
export function createRankedHeaps<Entry extends Ranked>() {
  const emptyHeaps = () => [0, 1, 2, 3].map(() => new TinyQueue<Entry>([], (a, b) => a.dueAt - b.dueAt));
  let heaps = emptyHeaps();
  let turn = 0;

  const top = (rank: PollRank): Entry | undefined => {
    const heap = heaps[rank]!;
    for (;;) {
      const entry = heap.peek();
      if (!entry || (!entry.gone && !entry.busy)) return entry;
      heap.pop();
    }
  };

  return {
    push: (entry: Entry): void => heaps[entry.rank]!.push(entry),
    clear: (): void => {
      heaps = emptyHeaps();
    },
    /** Takes out, of the entries that are due, the earliest of the rank whose turn it is; null when none is due. */
    pop: (now: Instant): Entry | null => {
      for (const rank of ranksInTurn(turn)) {
        const entry = top(rank);
        if (!entry || entry.dueAt > now) continue;
        heaps[rank]!.pop();
        return entry;
      }
      return null;
    },
    /** A poll has left: another rank may have its turn. */
    nextTurn: (): void => {
      turn += 1;
    },
    /** When the earliest entry of any rank is due; null when there is none. */
    nextDue: (): Instant | null => {
      let next: Instant | null = null;
      for (const rank of ranksInTurn(turn)) {
        const dueAt = top(rank)?.dueAt;
        if (dueAt !== undefined) next = Math.min(next ?? dueAt, dueAt);
      }
      return next;
    },
  };
}
