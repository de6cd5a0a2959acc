/** What happened in a world that changes what is right from then on. Written by the world, read by the model. */
export type Happening = { readonly at: number } /** The database is as it was at `to`; all that was written since is gone. */ & (
  | { readonly what: 'went back'; readonly to: number }
  /** `steps`: by so many milliseconds the clock that everything is dated by. */
  | { readonly what: 'clock stepped'; readonly of: 'database' | number; readonly by: number }
  /** A person asked for it; `isDone` once the answer said so, and until then it may have been done or not. */
  | { readonly what: 'stopped' | 'erased'; readonly purchaseId: string; readonly isDone: boolean }
  | { readonly what: 'silenced'; readonly until: number }
  /** No daemon ran. */
  | { readonly what: 'idle'; readonly until: number }
);

/** From when on a purchase may begin again with a `sequence` that was used before. */
export function begunAgain(history: readonly Happening[], purchaseId: string): number {
  const found = history.find((each) => each.what === 'went back' || (each.what === 'erased' && each.purchaseId === purchaseId));
  return found?.at ?? Number.POSITIVE_INFINITY;
}
