/** The earliest of many: a binary heap. Ties come out in any order. */
export interface Heap<T> {
  push(item: T): void;
  peek(): T | undefined;
  pop(): T | undefined;
  readonly size: number;
}

export function createHeap<T>(earlier: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];
  const swap = (a: number, b: number): void => {
    [items[a], items[b]] = [items[b]!, items[a]!];
  };
  return {
    get size() {
      return items.length;
    },
    peek: () => items[0],
    push: (item) => {
      let at = items.push(item) - 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!earlier(items[at]!, items[parent]!)) break;
        swap(at, parent);
        at = parent;
      }
    },
    pop: () => {
      const top = items[0];
      const last = items.pop();
      if (last === undefined || items.length === 0) return top;
      items[0] = last;
      let at = 0;
      for (;;) {
        const left = at * 2 + 1;
        if (left >= items.length) return top;
        const child = left + 1 < items.length && earlier(items[left + 1]!, items[left]!) ? left + 1 : left;
        if (!earlier(items[child]!, items[at]!)) return top;
        swap(at, child);
        at = child;
      }
    },
  };
}
