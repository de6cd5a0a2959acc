/** Which faults come when: a schedule that follows from the seed alone. */
import { between, pick, type Random } from '../../src/simulator/random.ts';

export const FAULT_KINDS = [
  'database path held',
  'database path lost',
  'database path refused',
  'database path slow',
  'database connections reset',
  'table locked',
  'long reader',
  'replica frozen',
  'replica killed',
  'database clock forward',
  'database clock back',
  'odd answers',
  'service throttles',
  'service answers nonsense',
  'service refuses the credentials',
  'service down',
  'service slow',
  'replica without service',
  'receiver away',
  'Slack away',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** Milliseconds from the beginning of the storm. */
  readonly at: number;
  readonly length: number;
  /** Which replica, where the fault strikes one. */
  readonly replica: number;
  /** Draws the fault's details, in [0, 1). */
  readonly draw: number;
}

export interface ForecastOptions {
  readonly random: Random;
  /** Milliseconds. */
  readonly length: number;
  readonly replicas: number;
}

/** How far apart faults begin, on average. */
const SPACING = 4_000;
const SHORTEST = 2_000;
/** Longer than replicas, tables and lines may be away for everything to go on soon afterwards. */
const LONGEST = 45_000;
/** While one of these lasts, no replica can read any purchase: long enough in a long storm for people to be alerted. */
export const BLINDING: ReadonlySet<FaultKind> = new Set([
  'service throttles',
  'service answers nonsense',
  'service refuses the credentials',
  'service down',
]);
const LONGEST_BLINDNESS = 200_000;

/** Plans a storm: a fault of each kind comes before any kind comes again, in an order and at times drawn from the seed. */
export function forecast({ random, length, replicas }: ForecastOptions): PlannedFault[] {
  const longestOf = (kind: FaultKind): number =>
    Math.min(Math.max(length / 8, 8_000), BLINDING.has(kind) ? LONGEST_BLINDNESS : LONGEST);
  const planned: PlannedFault[] = [];
  let deck: FaultKind[] = [];
  for (let at = 0; at < length - SHORTEST; at += between(random, SPACING / 2, SPACING * 1.5)) {
    if (deck.length === 0) deck = [...FAULT_KINDS];
    const kind = pick(random, deck);
    deck.splice(deck.indexOf(kind), 1);
    planned.push({
      kind,
      at,
      length: Math.min(between(random, SHORTEST, longestOf(kind)), length - at),
      replica: between(random, 0, replicas - 1),
      draw: random(),
    });
  }
  return planned;
}
