/** Which faults come when: a schedule that follows from the seed alone. */
import { between, pick, type Random } from '../../src/simulator/values/random.ts';

export const FAULT_KINDS = [
  'database path held',
  'database path lost',
  'database path refused',
  'database path slow',
  'database connections reset',
  'table locked',
  'long reader',
  'recording refused',
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

/** Faults with the same resource never overlap. */
export function resourceOf({ kind, replica }: Pick<PlannedFault, 'kind' | 'replica'>): string {
  if (kind.startsWith('database path') || kind === 'database connections reset') return `line ${replica}`;
  if (kind === 'replica frozen' || kind === 'replica killed') return `process ${replica}`;
  if (kind === 'table locked' || kind === 'long reader' || kind === 'recording refused') return 'tables';
  if (kind.startsWith('database clock')) return 'clock';
  if (kind === 'replica without service') return `way to the service ${replica}`;
  if (kind === 'receiver away' || kind === 'Slack away') return kind;
  return 'service';
}

/** How far apart faults begin, on average: less when the storm is too short for each kind to come. */
const SPACING = 4_000;
const SHORTEST = 2_000;
/** Longer than replicas, tables and lines may be away for everything to go on soon afterwards. */
const LONGEST = 45_000;
/** All kinds of the service share one place: shorter ones leave it well in between. */
const LONGEST_OF_SERVICE = 20_000;
/** While one of these lasts, no replica can read any purchase. */
export const BLINDING: ReadonlySet<FaultKind> = new Set([
  'service throttles',
  'service answers nonsense',
  'service refuses the credentials',
  'service down',
]);
/** In a long storm, some of these last until people must be alerted. */
const LASTING: ReadonlySet<FaultKind> = new Set([...BLINDING, 'recording refused']);
const LASTING_SHARE = 0.15;
const LONGEST_LASTING = 200_000;
/** The storm that is long enough for those; one in a shorter storm would be all of it. */
const LONG_STORM = 10 * 60_000;
/** Each storm has one outage of the service that is long enough for an alert, and each long one a time without recording. */
const OUTAGE = 36_000;
const REFUSAL = 110_000;

/** Plans a storm: a fault of each kind comes before any kind comes again, in an order and at times drawn from the seed. */
export function forecast({ random, length, replicas }: ForecastOptions): PlannedFault[] {
  const lengthOf = (kind: FaultKind): number => {
    if (LASTING.has(kind) && random() < LASTING_SHARE && length >= LONG_STORM) return between(random, OUTAGE, LONGEST_LASTING);
    const most = resourceOf({ kind, replica: 0 }) === 'service' ? LONGEST_OF_SERVICE : LONGEST;
    return between(random, SHORTEST, Math.min(Math.max(length / 8, 8_000), most));
  };
  const plan = (kind: FaultKind, at: number, lasts: number): PlannedFault => ({
    kind,
    at,
    length: Math.min(lasts, length - at),
    replica: between(random, 0, replicas - 1),
    draw: random(),
  });
  const planned: PlannedFault[] = [];
  let deck: FaultKind[] = [];
  const spacing = Math.min(SPACING, length / (FAULT_KINDS.length + 3));
  for (let at = 0; at < length - SHORTEST; at += between(random, spacing / 2, spacing * 1.5)) {
    if (deck.length === 0) deck = [...FAULT_KINDS];
    const kind = pick(random, deck);
    deck.splice(deck.indexOf(kind), 1);
    planned.push(plan(kind, at, lengthOf(kind)));
  }
  const certain = (kind: FaultKind, lasts: number): PlannedFault =>
    plan(kind, between(random, 0, Math.max(length - lasts, 0)), lasts);
  const reserved = [certain(pick(random, ['service down', 'service refuses the credentials'] as const), OUTAGE)];
  if (length >= LONG_STORM) reserved.push(certain('recording refused', REFUSAL));
  const others = reserved.reduce((faults, taken) => faults.flatMap((fault) => beside(taken, fault)), planned);
  return [...others, ...reserved].toSorted((a, b) => a.at - b.at);
}

/** What is left of a fault when another one takes their resource for itself. */
function beside(taken: PlannedFault, fault: PlannedFault): PlannedFault[] {
  const end = fault.at + fault.length;
  const isClear = end <= taken.at || fault.at >= taken.at + taken.length;
  if (isClear || resourceOf(fault) !== resourceOf(taken)) return [fault];
  const at = fault.at < taken.at ? fault.at : taken.at + taken.length;
  const length = fault.at < taken.at ? taken.at - at : end - at;
  return length < SHORTEST ? [] : [{ ...fault, at, length }];
}
