/** Keeps a stream of lines readable: so many a second, and how many more there were. */
import { startInterval } from '../../runtime/time.ts';

const WINDOW = 1_000;

/** Shows at most `most` lines a second through `show`, and `more` for the others. */
export function createPace<Line>({
  most,
  show,
  more,
}: {
  readonly most: number;
  show(line: Line): void;
  more(count: number): Line;
}) {
  let shown = 0;
  let hidden: Line[] = [];
  /** Says now how many were left out, before something else is shown; a new second begins. */
  const flush = (): void => {
    // One more line takes no more room than saying that there was one.
    if (hidden.length === 1) show(hidden[0]!);
    else if (hidden.length > 1) show(more(hidden.length));
    hidden = [];
    shown = 0;
  };
  const timer = startInterval(flush, WINDOW);
  return {
    /** Shows a line, or counts it when there were enough in this second. */
    line: (line: Line): void => {
      if (shown >= most) return void hidden.push(line);
      shown += 1;
      show(line);
    },
    flush,
    /** Flushes and ends. */
    stop: (): void => {
      clearInterval(timer);
      flush();
    },
  };
}
