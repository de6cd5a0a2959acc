/** The work that this process did, in counts. */
import { readFileSync } from 'node:fs';
import { GCProfiler, getHeapStatistics, type HeapSpaceStatistics, promiseHooks } from 'node:v8';

/** What was done between `start` and `stop`. */
export interface Work {
  /** Bytes that V8 allocated in its heap. */
  readonly allocated: number;
  readonly scavenges: number;
  /** Bytes that scavenges moved to the old generation, which only a full collection frees. */
  readonly promoted: number;
  /** Bytes that scavenges left in the young generation. */
  readonly survived: number;
  /** System calls that read or wrote, of files and sockets alike; NaN where the kernel does not tell. */
  readonly readsAndWrites: number;
  /** Turns of the event loop: whatever wakes the process begins one. */
  readonly turns: number;
}

/** Begins to count; the function that it returns ends that and answers the counts. */
export function countWork(): () => Work {
  const profiler = new GCProfiler();
  const before = totals();
  profiler.start();
  return () => {
    const after = totals();
    const { statistics } = profiler.stop()!;
    const scavenges = statistics.filter(({ gcType }) => gcType === 'Scavenge');
    const sum = (of: (each: (typeof scavenges)[number]) => number): number =>
      scavenges.reduce((total, each) => total + of(each), 0);
    const used = (space: string, { heapSpaceStatistics }: { heapSpaceStatistics: HeapSpaceStatistics[] }): number =>
      heapSpaceStatistics.find(({ spaceName }) => spaceName === space)!.spaceUsedSize;
    return {
      allocated: after.allocated - before.allocated,
      scavenges: scavenges.length,
      promoted: sum(({ beforeGC, afterGC }) => used('old_space', afterGC) - used('old_space', beforeGC)),
      survived: sum(({ afterGC }) => used('new_space', afterGC)),
      readsAndWrites: after.calls - before.calls,
      turns: after.turns - before.turns,
    };
  };
}

/** Begins to count promises, which slows the process; the function that it returns ends that and answers how many were made. */
export function countPromises(): () => number {
  let made = 0;
  const stop = promiseHooks.onInit(() => {
    made += 1;
  }) as unknown as () => void;
  return () => {
    stop();
    return made;
  };
}

function totals(): { allocated: number; calls: number; turns: number } {
  const { total_allocated_bytes: allocated } = getHeapStatistics() as unknown as { total_allocated_bytes: number };
  return { allocated, calls: systemCalls(), turns: performance.nodeTiming.uvMetricsInfo.loopCount };
}

function systemCalls(): number {
  try {
    const lines = readFileSync('/proc/self/io', 'latin1').matchAll(/^sysc[rw]: (\d+)$/gm);
    return lines.reduce((sum, [, count]) => sum + Number(count), 0);
  } catch {
    return Number.NaN;
  }
}
