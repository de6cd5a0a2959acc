/** First in, first out, without moving the items: an array's `shift` moves them all once the array is long. */

export function createQueue<T>() {
  let entering: T[] = [];
  /** The first one stands last. */
  let leaving: T[] = [];
  return {
    push: (item: T): void => void entering.push(item),
    /** Puts an item first. */
    unshift: (item: T): void => void leaving.push(item),
    shift: (): T | undefined => {
      if (leaving.length === 0) [entering, leaving] = [leaving, entering.reverse()];
      return leaving.pop();
    },
  };
}
