/** One answer for all who ask at the same time. */

/**
 * Makes one answer at a time. Callers who ask while one is being made share the next one: each answer was begun after everyone
 * who gets it had asked, so that none lacks what its caller has just changed.
 */
export function createShared<T>(make: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  const begin = (): Promise<T> => {
    const made = make().finally(() => {
      underWay = null;
    });
    underWay = made;
    return made;
  };
  const begunNext = (): Promise<T> => {
    next = null;
    return underWay ?? begin();
  };
  return () => {
    if (underWay === null) return begin();
    next ??= underWay.then(begunNext, begunNext);
    return next;
  };
}
