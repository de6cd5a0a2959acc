/** Two commits that take turns: what each needed in each round, and how far apart they are. */
import { median } from '../measure.ts';
import type { Row } from '../report.ts';

/** What one turn found, by the name of the quantity. */
export type Reading = Readonly<Record<string, number>>;

/** One commit's daemon on a database of its own, held still but in its turns. */
export interface Side {
  turn(): Promise<Reading>;
  /** Holds the daemon still until its next turn, as the end of each turn does. */
  rest(): void;
  stop(): Promise<void>;
}

/** Of the other commit, and of this one. */
export interface Both<T> {
  readonly before: T;
  readonly now: T;
}

type Round = Both<Reading>;

/** Lets both take a turn in each round; the one that began ends the next round, so that what drifts favours neither. */
export async function takeTurns({ before, now }: Both<Side>, rounds: number): Promise<Measured> {
  const found: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) found.push({ before: await before.turn(), now: await now.turn() });
    else {
      const last = await now.turn();
      found.push({ before: await before.turn(), now: last });
    }
  }
  return found;
}

/** The ratio that a quantity of this commit may have to the other one's. */
const AT_MOST = 1.15;

/** One measurement: all its rounds. */
export type Measured = readonly Round[];

function ratiosOf(rounds: Measured, what: string): number[] {
  return rounds.map(({ before, now }) => now[what]! / before[what]!);
}

/** The quantities that grew too far in each measurement, by the medians of its rounds. */
export function grownInAll(measured: readonly Measured[]): string[] {
  return Object.keys(measured[0]![0]!.now).filter((what) => measured.every((rounds) => median(ratiosOf(rounds, what)) > AT_MOST));
}

/**
 * Both medians of each quantity, and the median of its ratios with their spread. Of several measurements that one counts in which the
 * quantity grew least: what disturbs the machine does not come twice in the same place.
 */
export function rowsOf(measured: readonly Measured[], units: Readonly<Record<string, Row['unit']>>): Row[] {
  return Object.keys(measured[0]![0]!.now).flatMap((what): Row[] => {
    const ratioOf = (rounds: Measured): number => median(ratiosOf(rounds, what));
    const rounds = measured.reduce((least, each) => (ratioOf(each) < ratioOf(least) ? each : least));
    const ratios = ratiosOf(rounds, what);
    const spread = rounds.length > 1 ? ` (rounds: ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})` : '';
    return [
      { what: `${what}, before`, value: median(rounds.map(({ before }) => before[what]!)), unit: units[what]! },
      { what: `${what}, now`, value: median(rounds.map(({ now }) => now[what]!)), unit: units[what]! },
      { what: `${what}, now to before${spread}`, value: ratioOf(rounds), unit: 'ratio', atMost: AT_MOST },
    ];
  });
}
