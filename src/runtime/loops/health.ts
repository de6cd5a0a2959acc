/** Which loops run and which failed, for /readyz, the dead man's switch and people. */

import { type Failing, failedAgain, LONG_BESIDE, type LoopSeen, longFailure } from '../../domain/replicas/loop-health.ts';
import type { Milliseconds } from '../../domain/values/time.ts';

export interface LoopHealth {
  readonly name: string;
  readonly ok: boolean;
  /** When it last did its work without an error; epoch milliseconds, null while it never did. */
  readonly lastGoodAt: number | null;
  readonly error: string | null;
}

/** The writes of a loop in the background, by kind: a tick may end well while they fail. */
export interface Writes {
  failed(kind: string, error: unknown): void;
  done(kind: string): void;
  /** The writes that failed are another replica's work now: failures from here on start a new count. */
  forget(): void;
}

export type Health = ReturnType<typeof createHealth>;

interface Loop {
  goodAt: Milliseconds | null;
  lastGoodAt: number | null;
  /** Why the last round failed. */
  error: string | null;
  readonly failing: Map<string, Failing>;
}

/** The kind of work that the rounds themselves are. */
const ROUND = 'round';

/**
 * Keeps the state of every loop. A loop whose round failed is bad until one succeeds; a loop whose writes have failed for a
 * minute is bad until they succeed. The other loops are not touched.
 */
export function createHealth(now: () => number, monotonic: () => Milliseconds = now) {
  const loops = new Map<string, Loop>();
  const loopOf = (name: string): Loop => {
    const known = loops.get(name);
    if (known !== undefined) return known;
    const made: Loop = { goodAt: null, lastGoodAt: null, error: null, failing: new Map() };
    loops.set(name, made);
    return made;
  };
  const fail = ({ failing }: Loop, kind: string, error: string): void => {
    failing.set(kind, failedAgain(failing.get(kind), error, monotonic()));
  };
  const shown = (): LoopHealth[] =>
    [...loops].map(([name, { failing, error, lastGoodAt }]) => {
      const why = error ?? longFailure(failing.values(), monotonic())?.error ?? null;
      return { name, ok: why === null, lastGoodAt, error: why };
    });

  return {
    /** A round of the loop ended well. */
    good: (name: string): void => {
      const loop = loopOf(name);
      loop.error = null;
      loop.failing.delete(ROUND);
      if (longFailure(loop.failing.values(), monotonic()) !== null) return;
      loop.goodAt = monotonic();
      loop.lastGoodAt = now();
    },
    bad: (name: string, error: unknown): void => {
      const loop = loopOf(name);
      loop.error = errorText(error);
      fail(loop, ROUND, loop.error);
    },
    writesOf: (name: string): Writes => ({
      failed: (kind, error) => fail(loopOf(name), kind, errorText(error)),
      done: (kind) => void loops.get(name)?.failing.delete(kind),
      forget: () => {
        const failing = loops.get(name)?.failing;
        for (const kind of [...(failing?.keys() ?? [])]) if (kind !== ROUND) failing?.delete(kind);
      },
    }),
    loops: shown,
    /** The same with durations, which a step of the machine's clock does not change. */
    seen: (): LoopSeen[] => {
      const at = monotonic();
      const isLong = [...loops.values()].some(({ failing }) => longFailure(failing.values(), at) !== null);
      return [...loops].map(([name, { goodAt, failing }]) => {
        const long = longFailure(failing.values(), at, isLong ? LONG_BESIDE : undefined);
        return {
          name,
          goodAgo: goodAt === null ? null : at - goodAt,
          failing: long === null ? null : { for: at - long.since, error: long.error },
        };
      });
    },
    ok: (): boolean => shown().every((loop) => loop.ok),
  };
}

/** Of an error what people need: its text and the code by which they find what to do. */
function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message } = error;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
  if (code === null) return message;
  // Postgres may cite the data that it refuses.
  if (/^2[23]...$/.test(code)) return `The database refuses the data (${code}).`;
  return message.includes(code) ? message : `${message} (${code})`.trim();
}
