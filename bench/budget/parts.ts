/** Whose work a processor profile shows: the time of each part of the daemon. */
import type { Profiler } from 'node:inspector';

/** Microseconds of processor time by part. */
export type Parts = readonly (readonly [part: string, micros: number])[];

/** By the place of the code; the first that matches counts. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/^node:internal\/(stream_base_commons|streams|js_stream)|^node:(net|internal\/net|_stream)/, 'sockets: system calls, streams'],
  [/node_modules\/undici\//, 'HTTP client (undici)'],
  [/node_modules\/postgres(-array)?\//, 'Postgres driver'],
  [/^node:internal\/crypto/, 'digests and signatures'],
  [/\/(src|dist)\/checkout\//, 'checkout client: request, answer, deadline'],
  [/\/(src|dist)\/daemon\/poller\/window\//, 'window: what is due next'],
  [/\/(src|dist)\/daemon\/poller\//, 'poller: plan, hand over, apply'],
  [/\/(src|dist)\/domain\//, 'deciding, and what is known of a site'],
  [/\/(src|dist)\/postgres\//, 'statements and their parameters'],
  [/\/(src|dist)\/(daemon\/notifier|channels)\//, 'notifier: load, sign, send, settle'],
  [/\/(src|dist)\//, 'other parts of the daemon'],
  [/node_modules\//, 'other libraries'],
];
const COLLECTOR = 'garbage collection';
const REST = 'rest of Node.js: promises, timers, buffers';
/** What V8 names in place of a function. */
const IDLE = '(idle)';
const GARBAGE = '(garbage collector)';

/**
 * Adds up the samples of a profile. A native function counts for the code that called it. The parts are given as parts of
 * `used`, the processor time in microseconds: samples tell time that passed, also while another process had the processor.
 */
export function partsOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile, used: number): Parts {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const known = new Map(nodes.map((node) => [node.id, node]));
  const partOf = (id: number): string => {
    if (known.get(id)!.callFrame.functionName === GARBAGE) return COLLECTOR;
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const { url } = known.get(at)!.callFrame;
      if (url !== '') return PARTS.find(([place]) => place.test(url))?.[1] ?? REST;
    }
    return REST;
  };
  const micros = new Map<string, number>();
  samples.forEach((id, index) => {
    if (known.get(id)!.callFrame.functionName === IDLE) return;
    const part = partOf(id);
    micros.set(part, (micros.get(part) ?? 0) + timeDeltas[index]!);
  });
  const sum = micros.values().reduce((total, each) => total + each, 0);
  return [...micros].map(([part, passed]) => [part, (passed / sum) * used]);
}
