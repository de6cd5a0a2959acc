import { SimulatorError } from '../contract/error.ts';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** A duration in milliseconds, given as a number of them or as text like `250ms`, `5s`, `10m`, `24h`, `30d`, in the named field. */
export function milliseconds(duration: number | string, field: string): number {
  if (typeof duration === 'number' && duration >= 0 && Number.isFinite(duration)) return duration;
  const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration));
  if (parts === null) {
    const detail = 'is not a duration; write it like 250ms, 5s, 10m, 24h or 30d';
    throw new SimulatorError('invalid_request', detail, { field, value: duration });
  }
  return Number(parts[1]) * (UNITS.get(parts[2] ?? '') ?? 0);
}
