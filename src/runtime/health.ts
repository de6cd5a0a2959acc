/** Which loops run and which failed, for /readyz and for people. */

export interface LoopHealth {
  readonly name: string;
  readonly ok: boolean;
  /** When it last did its work without an error; epoch milliseconds, null while it never did. */
  readonly lastGoodAt: number | null;
  readonly error: string | null;
}

export interface Health {
  good(loop: string): void;
  bad(loop: string, error: unknown): void;
  loops(): LoopHealth[];
  ok(): boolean;
}

/** Keeps the last word of every loop. A loop that failed is bad until it succeeds again; the others are not touched. */
export function createHealth(now: () => number): Health {
  const loops = new Map<string, LoopHealth>();
  return {
    good: (name) => {
      loops.set(name, { name, ok: true, lastGoodAt: now(), error: null });
    },
    bad: (name, error) => {
      const before = loops.get(name);
      loops.set(name, {
        name,
        ok: false,
        lastGoodAt: before?.lastGoodAt ?? null,
        error: error instanceof Error ? error.message : String(error),
      });
    },
    loops: () => [...loops.values()],
    ok: () => [...loops.values()].every((loop) => loop.ok),
  };
}
