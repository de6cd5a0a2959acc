/** Moments as places from left to right, and the marks of an axis of time. */
import { DAY, HOUR, type Instant, MINUTE, SECOND } from '../../domain/values/time.ts';
import { clockTime, dayTime } from '../parts/time.ts';

const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 5, 10, 30, 100].map((count) => count * DAY),
];

/** Round moments of a time, at most so many, with their words. */
export function ticksOf(from: Instant, to: Instant, most: number): { readonly at: Instant; readonly word: string }[] {
  const step = STEPS.find((length) => (to - from) / length <= most) ?? (to - from) / most;
  const first = Math.ceil(from / step) * step;
  const count = Math.max(0, Math.floor((to - first) / step) + 1);
  return Array.from({ length: count }, (_, index) => {
    const at = first + index * step;
    return { at, word: to - from > 12 * HOUR ? dayTime(at) : step < MINUTE ? clockTime(at) : clockTime(at).slice(0, 5) };
  });
}
