/** Has open pages ask for themselves again after a change: in rounds, one page after the other. */
import type { Milliseconds } from '../domain/values/time.ts';
import { monotonic, startTimer } from '../runtime/time.ts';

/** When rounds begin after a change; the later ones because deliveries, alerts and counts follow a change within seconds. */
const ROUNDS: readonly Milliseconds[] = [0, 2_000, 10_000];
/** From the begin of one round to that of the next at least, however much happens. */
const REST: Milliseconds = 1_000;
/**
 * Between two pages of a round lies at least SPACING, or RESTS_FOR times what making the last page took: however many pages are
 * open, and however slow the machine is, pages take no more than a small share from polls and deliveries.
 */
const SPACING: Milliseconds = 20;
const RESTS_FOR = 20;
const LONGEST_SPACING: Milliseconds = 2_000;
/** Pages of one round that ask for the same get the same answer, which is at most this old: longer than any spacing. */
const SHARED_FOR: Milliseconds = 5_000;
/** Answers kept at most; a page may be large. */
const MOST_SHARED = 50;

export interface OpenPage {
  /** Tells the page to ask for itself again. */
  refresh(): void;
}

export type Refreshes = ReturnType<typeof createRefreshes>;

/** `now` is in milliseconds from any moment on. */
export function createRefreshes(now: () => Milliseconds = monotonic) {
  const pages = new Set<OpenPage>();
  /** Pages that the round under way has not refreshed. */
  let left: OpenPage[] = [];
  /** When rounds are to begin, the soonest first. */
  let rounds: Milliseconds[] = [];
  /** When the last round began, and when its last page was refreshed. */
  let begunAt = Number.NEGATIVE_INFINITY;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let spacing = SPACING;
  let timer: NodeJS.Timeout | undefined;
  const answers = new Map<string, { readonly at: Milliseconds; readonly answer: Promise<unknown> }>();

  const plan = (): void => {
    const round = rounds[0] === undefined ? Number.POSITIVE_INFINITY : Math.max(rounds[0], begunAt + REST);
    const at = Math.max(left.length > 0 ? refreshedAt : round, refreshedAt + spacing);
    clearTimeout(timer);
    if (at < Number.POSITIVE_INFINITY) timer = startTimer(step, Math.max(at - now(), 0)).unref();
  };
  const step = (): void => {
    if (left.length === 0) {
      rounds.shift();
      begunAt = now();
      left = [...pages];
      answers.clear();
    }
    refreshedAt = now();
    left.pop()?.refresh();
    plan();
  };

  return {
    add: (page: OpenPage): void => void pages.add(page),
    remove: (page: OpenPage): void => {
      pages.delete(page);
      left = left.filter((each) => each !== page);
    },
    /** Something changed: rounds begin now and later. */
    changed: (): void => {
      const at = now();
      rounds = ROUNDS.map((after) => at + after);
      plan();
    },
    /** No answer made before this moment is shared: a person changed something, and looks for it. */
    forget: (): void => answers.clear(),
    /** Answers a page that asks for itself again: `what` names everything that its answer depends on. */
    answer: <T>(what: string, make: () => Promise<T>): Promise<T> => {
      const at = now();
      const known = answers.get(what);
      if (known !== undefined && known.at + SHARED_FOR > at) {
        spacing = SPACING;
        return known.answer as Promise<T>;
      }
      const answer = make().finally(() => {
        spacing = Math.min(Math.max((now() - at) * RESTS_FOR, SPACING), LONGEST_SPACING);
      });
      answers.delete(what);
      if (answers.size < MOST_SHARED) answers.set(what, { at, answer });
      return answer;
    },
  };
}
