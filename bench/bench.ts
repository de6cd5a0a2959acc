/** What a bench is given, and how contenders take turns. */
import type { Lab } from './lab.ts';
import { median } from './measure.ts';
import type { Result } from './report.ts';

export interface BenchOptions {
  readonly quick: boolean;
  /** With a million purchases where a hundred thousand are usual. */
  readonly large: boolean;
  /** The revision that `guard` compares with; null: the one that it names itself. */
  readonly against: string | null;
  /** How long `soak` works; null: as usual. */
  readonly minutes: number | null;
  /** How many purchases the databases of `scale` watch; null: as usual. */
  readonly watched: readonly number[] | null;
  /** Says in a line what goes on. */
  say(line: string): void;
}

export type Bench = (lab: Lab, options: BenchOptions) => Promise<Result>;

/** One of those that do the same work; it must rest while another one's turn runs. */
export interface Contender {
  readonly name: string;
  /** Does the work for its turn; answers its rate, in pieces a second. */
  turn(): Promise<number>;
}

export interface Standing {
  readonly name: string;
  readonly rate: number;
  /** Median over the rounds of its rate divided by the first contender's in the same round. */
  readonly ratio: number;
}

/** Lets contenders take turns, round after round: what disturbs the machine disturbs all of them alike. */
export async function compete(
  contenders: readonly Contender[],
  rounds: number,
  say: (line: string) => void,
): Promise<Standing[]> {
  const rates = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, contender] of contenders.entries()) rates[index]!.push(await contender.turn());
    const line = contenders.map(({ name }, index) => `${name} ${Math.round(rates[index]![round]!)}/s`).join(', ');
    say(`round ${round + 1} of ${rounds}: ${line}`);
  }
  return contenders.map(({ name }, index) => ({
    name,
    rate: median(rates[index]!),
    ratio: median(rates[index]!.map((rate, round) => rate / rates[0]![round]!)),
  }));
}
