/** First in, first out, without moving the items: an array's `shift` moves them all once the array is long. */

export function createQueue<T>() {
  let items: (T | undefined)[] = [];
  let first = 0;
  return {
    push: (item: T): void => void items.push(item),
    /** Puts an item first. */
    unshift: (item: T): void => {
      if (first === 0) items.unshift(item);
      else items[--first] = item;
    },
    shift: (): T | undefined => {
      if (first === items.length) return undefined;
      const item = items[first];
      items[first] = undefined;
      first += 1;
      if (first === items.length || first > 1_024) {
        items = items.slice(first);
        first = 0;
      }
      return item;
    },
  };
}
