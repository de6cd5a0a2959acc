/** Keeps a stream of lines readable: so many a second, and how many more there were. */

const WINDOW = 1_000;

export interface Pace<Line> {
  /** Shows a line, or counts it when there were enough in this second. */
  line(line: Line): void;
  /** Says now how many were left out, before something else is shown; a new second begins. */
  flush(): void;
  /** Flushes and ends. */
  stop(): void;
}

/** Shows at most `most` lines a second through `show`, and `more` for the others. */
export function createPace<Line>({
  most,
  show,
  more,
}: {
  readonly most: number;
  show(line: Line): void;
  more(count: number): Line;
}): Pace<Line> {
  let shown = 0;
  let hidden: Line[] = [];
  const flush = (): void => {
    // One more line takes no more room than saying that there was one.
    if (hidden.length === 1) show(hidden[0]!);
    else if (hidden.length > 1) show(more(hidden.length));
    hidden = [];
    shown = 0;
  };
  const timer = setInterval(flush, WINDOW);
  return {
    line: (line) => {
      if (shown >= most) {
        hidden.push(line);
        return;
      }
      shown += 1;
      show(line);
    },
    flush,
    stop: () => {
      clearInterval(timer);
      flush();
    },
  };
}
