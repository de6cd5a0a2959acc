/**
 * Time, timers and random numbers of a whole process, in the hands of one scheduler. After `takeOver` nothing in the process rests
 * in real time: what is due next runs next, once every promise of what ran before has settled.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import type { Random } from './random.ts';

/** Where code runs: a daemon, or the world around it. What a daemon that was killed has begun never goes on. */
export interface Place {
  readonly name: string;
  state: 'running' | 'frozen' | 'dead';
  /** Milliseconds by which its wall clock is off. */
  skew: number;
  /** What was due while it was frozen. */
  readonly kept: (() => void)[];
}

export const place = (name: string): Place => ({ name, state: 'running', skew: 0, kept: [] });

interface Due {
  readonly at: number;
  readonly order: number;
  readonly place: Place;
  act: (() => void) | null;
}

/** The first world's wall clock at its start. */
const FIRST = Date.UTC(2026, 0, 15, 9);
/** So much later the next seed's world begins: ids that only ever grow within a process grow from world to world, too. */
const APART = 40 * 24 * 3_600_000;
/** After so many seeds, which take centuries, worlds begin at the first moment again: the queue has no places for later dates. */
export const SEEDS = 2_000;

export class Scheduler {
  /** Milliseconds since the start of this world. */
  now = 0;
  /** Things done so far. */
  steps = 0;
  /** The wall clock at the start of this world, in epoch milliseconds. */
  begin = FIRST;
  readonly world = place('world');
  readonly #places = new AsyncLocalStorage<Place>();
  readonly #heap: Due[] = [];
  #immediates: Due[] = [];
  #order = 0;

  /** Where the code that calls this runs. */
  here(): Place {
    return this.#places.getStore() ?? this.world;
  }

  in<T>(place: Place, act: () => T): T {
    return this.#places.run(place, act);
  }

  /** Has something happen after so many milliseconds, in the place that it is said in unless another is given. */
  after(ms: number, act: () => void, place: Place = this.here()): Due {
    const due: Due = { at: this.now + ms, order: this.#order++, place, act };
    this.#push(due);
    return due;
  }

  soon(act: () => void, place: Place = this.here()): Due {
    const due: Due = { at: this.now, order: this.#order++, place, act };
    this.#immediates.push(due);
    return due;
  }

  /** Forgets everything that is due: the world of a seed begins. */
  reset(seed: number): void {
    this.begin = FIRST + (seed % SEEDS) * APART;
    this.#heap.length = 0;
    this.#immediates = [];
    this.#order = 0;
    this.now = 0;
    this.steps = 0;
  }

  /** How many timers of a place are set. */
  timersOf(place: Place): number {
    return this.#heap.filter((due) => due.place === place && due.act !== null).length;
  }

  thaw(place: Place): void {
    place.state = 'running';
    for (const act of place.kept.splice(0)) this.soon(act, place);
  }

  /** Lets time pass until a moment, or until the condition holds. */
  async run(until: number, isDone: () => boolean = () => false): Promise<void> {
    while (!isDone()) {
      await realTurn();
      if (this.#immediates.length > 0) {
        for (const due of this.#immediates.splice(0)) this.#do(due);
        continue;
      }
      // Timers that were cleared.
      while (this.#heap[0]?.act === null) this.#pop();
      const next = this.#heap[0];
      if (next === undefined || next.at > until) break;
      this.#pop();
      this.now = Math.max(this.now, next.at);
      this.#do(next);
    }
    if (!isDone()) this.now = Math.max(this.now, until);
  }

  #do({ place, act }: Due): void {
    if (act === null || place.state === 'dead') return;
    if (place.state === 'frozen') {
      place.kept.push(act);
      return;
    }
    this.steps++;
    this.#places.run(place, act);
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.push(due) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(due, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const isBefore = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

const realImmediate = setImmediate;
const RealDate = Date;
/** Resolves when all promises and ticks of what ran have settled. */
const realTurn = (): Promise<void> => new Promise((resolve) => realImmediate(resolve));

/** Replaces every source of time and chance of this process. There is no way back. */
export function takeOver(scheduler: Scheduler, random: Random): void {
  const wall = (): number => scheduler.begin + Math.floor(scheduler.now) + scheduler.here().skew;
  class VirtualDate extends RealDate {
    constructor(...values: unknown[]) {
      if (values.length === 0) super(wall());
      else super(...(values as [number]));
    }
    static override now = wall;
  }
  globalThis.Date = VirtualDate as DateConstructor;
  performance.now = () => scheduler.now;
  Math.random = random.next;
  os.uptime = () => scheduler.now / 1_000 + 1_000;

  class Timer {
    #due: Due;
    readonly #ms: number;
    readonly #act: () => void;
    readonly #again: boolean;
    constructor(act: () => void, ms: number, again: boolean) {
      this.#ms = Math.max(1, Number(ms) || 1);
      this.#act = act;
      this.#again = again;
      this.#due = this.#schedule();
    }
    #schedule(): Due {
      return scheduler.after(this.#ms, () => {
        this.#due.act = null;
        if (this.#again) this.#due = this.#schedule();
        this.#act();
      });
    }
    cancel(): void {
      this.#due.act = null;
    }
    refresh(): this {
      this.cancel();
      this.#due = this.#schedule();
      return this;
    }
    close(): this {
      this.cancel();
      return this;
    }
    ref(): this {
      return this;
    }
    unref(): this {
      return this;
    }
    hasRef(): boolean {
      return true;
    }
    [Symbol.dispose](): void {
      this.cancel();
    }
  }
  const clear = (timer: unknown): void => {
    if (timer instanceof Timer) timer.cancel();
  };
  const virtual = {
    setTimeout: (act: (...v: unknown[]) => void, ms = 1, ...values: unknown[]) => new Timer(() => act(...values), ms, false),
    setInterval: (act: (...v: unknown[]) => void, ms = 1, ...values: unknown[]) => new Timer(() => act(...values), ms, true),
    setImmediate: (act: (...v: unknown[]) => void, ...values: unknown[]) => {
      const due = scheduler.soon(() => act(...values));
      return { due, ref: () => undefined, unref: () => undefined, hasRef: () => true };
    },
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: (immediate: { due: Due } | null | undefined) => {
      if (immediate?.due) immediate.due.act = null;
    },
  };
  Object.assign(globalThis, virtual);
  Object.assign(timers, virtual);
  const sleep = (ms = 1, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        timer.cancel();
        reject(new DOMException('The operation was aborted', { name: 'AbortError', cause: signal?.reason }));
      };
      const timer = new Timer(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve(value);
        },
        ms,
        false,
      );
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  const turn = (value?: unknown): Promise<unknown> => new Promise((resolve) => scheduler.soon(() => resolve(value)));
  Object.assign(timersPromises, { setTimeout: sleep, setImmediate: turn });
  AbortSignal.timeout = (ms: number): AbortSignal => {
    const control = new AbortController();
    const late = (): void => control.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    scheduler.after(ms, late);
    return control.signal;
  };
  const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => random.below(256)));
  const fill = <T extends ArrayBufferView>(view: T): T => {
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(bytes(view.byteLength));
    return view;
  };
  const uuid = (): string => {
    const hex = bytes(16).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  Object.assign(crypto, {
    randomBytes: (size: number, done?: (error: null, made: Buffer) => void) =>
      done === undefined ? bytes(size) : scheduler.soon(() => done(null, bytes(size))),
    randomUUID: uuid,
    randomFillSync: fill,
    randomInt: (from: number, below?: number) => (below === undefined ? random.below(from) : from + random.below(below - from)),
  });
  Object.defineProperty(globalThis.crypto, 'getRandomValues', { value: fill });
  Object.defineProperty(globalThis.crypto, 'randomUUID', { value: uuid });
  syncBuiltinESMExports();
}
