/** What was committed against what arrived: waits, and what is missing, came twice or came too late. */
import type { Commit, Receipt } from '../processes/messages.ts';

export interface Tally {
  /** Committed and never received. */
  readonly lost: number;
  /** Received again. */
  readonly repeats: number;
  /** Received after a later event of the same purchase. */
  readonly overtaken: number;
}

/** Compares what one subscriber should have got with what it got, in the order in which it came. */
export function tally(expected: readonly { index: number; sequence: number }[], receipts: readonly Receipt[]): Tally {
  const seen = new Set<string>();
  const latest = new Map<number, number>();
  let repeats = 0;
  let overtaken = 0;
  for (const receipt of receipts) {
    const { index, sequence } = receipt;
    if (seen.has(key(receipt))) {
      repeats += 1;
      continue;
    }
    seen.add(key(receipt));
    if (sequence < (latest.get(index) ?? 0)) overtaken += 1;
    else latest.set(index, sequence);
  }
  return { lost: expected.filter((event) => !seen.has(key(event))).length, repeats, overtaken };
}

export function sum(tallies: readonly Tally[]): Tally {
  const of = (count: (tally: Tally) => number): number => tallies.reduce((all, tally) => all + count(tally), 0);
  return { lost: of((tally) => tally.lost), repeats: of((tally) => tally.repeats), overtaken: of((tally) => tally.overtaken) };
}

/** A stretch of machine time. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export interface Waits {
  /** From the answer to the commit until the first receipt. */
  readonly sinceCommit: number[];
  /** From the planned moment: a commit that had to wait counts what it waited. */
  readonly sincePlanned: number[];
  /** From the planned moment to the answer to the commit. */
  readonly committing: number[];
}

/** In milliseconds, of the events that were planned within the stretch. What never came waits for ever. */
export function waits(commits: readonly Commit[], receipts: readonly Receipt[], { from, to }: Stretch): Waits {
  const firsts = new Map<string, number>();
  for (const receipt of receipts) if (!firsts.has(key(receipt))) firsts.set(key(receipt), receipt.at);
  const planned = commits.filter((commit) => commit.planned >= from && commit.planned < to);
  const arrival = (commit: Commit): number => firsts.get(key(commit)) ?? Number.POSITIVE_INFINITY;
  return {
    sinceCommit: planned.map((commit) => arrival(commit) - commit.committed),
    sincePlanned: planned.map((commit) => arrival(commit) - commit.planned),
    committing: planned.map((commit) => commit.committed - commit.planned),
  };
}

function key({ index, sequence }: { index: number; sequence: number }): string {
  return `${index} ${sequence}`;
}
