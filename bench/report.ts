/** What a bench found, as a table for people and as data for programs. */

export interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: '' | 's' | 'ms' | '/s' | 'cores' | '% of a core' | 'MB' | 'kB' | '%' | 'ratio' | 'ms CPU' | 'µs' | 'B';
  /** Bounds that the design sets: at least, or at most. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

export interface Result {
  readonly bench: string;
  /** How it was measured, in a line. */
  readonly how: string;
  readonly rows: readonly Row[];
  /** What was seen at regular moments, by name; only in the JSON. */
  readonly samples?: readonly Readonly<Record<string, number>>[];
  /** The bounds are no information but a test: a value that is known and beyond its bound makes the run fail. */
  readonly mustHold?: boolean;
}

export function holds({ value, atLeast, atMost }: Row): boolean | null {
  if (atLeast === undefined && atMost === undefined) return null;
  return value >= (atLeast ?? Number.NEGATIVE_INFINITY) && value <= (atMost ?? Number.POSITIVE_INFINITY);
}

export function hasFailed({ rows, mustHold = false }: Result): boolean {
  return mustHold && rows.some((row) => !Number.isNaN(row.value) && holds(row) === false);
}

export function table({ bench, how, rows }: Result): string {
  const cells = rows.map((row) => [
    row.what,
    shownWithUnit(row),
    target(row),
    { true: 'holds', false: 'MISSED', null: '' }[`${holds(row)}`],
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((line) => line[column]!.length)));
  const lines = cells.map(([what, value, bound, verdict]) =>
    `  ${what!.padEnd(widths[0]!)}  ${value!.padStart(widths[1]!)}  ${bound!.padEnd(widths[2]!)}  ${verdict}`.trimEnd(),
  );
  return [`${bench}: ${how}`, ...lines, ''].join('\n');
}

/** With as many digits as mean something. */
export function shownWithUnit({ value, unit }: Pick<Row, 'value' | 'unit'>): string {
  if (Number.isNaN(value)) return 'unknown';
  const isWhole = unit === 'MB' || (unit === 'B' && value >= 100) || Number.isInteger(value) || (unit === '/s' && value > 100);
  const digits = isWhole ? 0 : value < 10 ? 2 : 1;
  return `${value.toFixed(digits)} ${unit === 'ratio' ? '' : unit}`.trimEnd();
}

function target({ atLeast, atMost }: Row): string {
  if (atLeast !== undefined) return `≥ ${atLeast}`;
  return atMost === undefined ? '' : `≤ ${atMost}`;
}
