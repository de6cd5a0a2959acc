/** Keeps a stream of lines readable: so many a second, and how many more there were. */

const WINDOW = 1_000;

export interface Pace {
  /** Shows a line, or counts it when there were enough in this second. */
  line(text: string): void;
  /** Says now how many were left out, before something else is shown; a new second begins. */
  flush(): void;
  /** Flushes and ends. */
  stop(): void;
}

/** Shows at most `most` lines a second through `show`, and `more` for the others. */
export function createPace({
  most,
  show,
  more,
}: {
  readonly most: number;
  show(text: string): void;
  more(count: number): string;
}): Pace {
  let shown = 0;
  let hidden = 0;
  const flush = (): void => {
    if (hidden > 0) show(more(hidden));
    hidden = 0;
    shown = 0;
  };
  const timer = setInterval(flush, WINDOW);
  return {
    line: (text) => {
      if (shown >= most) {
        hidden += 1;
        return;
      }
      shown += 1;
      show(text);
    },
    flush,
    stop: () => {
      clearInterval(timer);
      flush();
    },
  };
}
