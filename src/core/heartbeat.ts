/** Whether all is so well that the dead man's switch may be called. Pure. */
import type { Milliseconds } from './purchase.ts';

/** A loop of the daemon, as far as it says that work is done. */
export interface LoopSeen {
  readonly name: string;
  /** How long ago it last did its work; null while it never did. */
  readonly goodAgo: Milliseconds | null;
}

/** Loops without which nobody would be told of a broken page. */
const NEEDED = ['poller', 'judge'];
/** A loop that did its work within this is alive. */
const ALIVE: Milliseconds = 2 * 60_000;

/** Whether each of them has done its work at least once. */
export function hasBegun(loops: readonly LoopSeen[]): boolean {
  return NEEDED.every((name) => loops.some((loop) => loop.name === name && loop.goodAgo !== null));
}

/** Why it must not be called, as a sentence; null when all is well. */
export function reasonToWithhold(
  loops: readonly LoopSeen[],
  people: { readonly all: number; readonly hearing: number },
): string | null {
  for (const name of NEEDED) {
    const goodAgo = loops.find((loop) => loop.name === name)?.goodAgo ?? null;
    if (goodAgo === null || goodAgo > ALIVE) return `The ${name} has not done its work for two minutes.`;
  }
  return people.all > 0 && people.hearing === 0 ? 'No channel for people takes messages.' : null;
}
