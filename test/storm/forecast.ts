/** Which faults come when: a schedule that follows from the seed alone. */
import { between, pick, type Random } from '../../packages/simulator/src/values/random.ts';

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
  'lossy failover',
  'older settings',
  'rows locked',
  'migration behind a reader',
  'bulk load',
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
  /** Which kinds come. */
  readonly kinds: readonly FaultKind[];
  /** Milliseconds. */
  readonly length: number;
  readonly replicas: number;
}

/** Faults with the same resource never overlap. */
export function resourceOf({ kind, replica }: Pick<PlannedFault, 'kind' | 'replica'>): string {
  if (kind.startsWith('database path') || kind === 'database connections reset') return `line ${replica}`;
  if (kind === 'replica frozen' || kind === 'replica killed') return `process ${replica}`;
  if (OF_TABLES.has(kind)) return 'tables';
  if (kind.startsWith('database clock')) return 'clock';
  if (kind === 'replica without service') return `way to the service ${replica}`;
  if (ON_ITS_OWN.has(kind)) return kind;
  return 'service';
}
/** A failover ends every transaction, and may lose the end of what was done to a table. */
const OF_TABLES: ReadonlySet<FaultKind> = new Set([
  'table locked',
  'long reader',
  'recording refused',
  'rows locked',
  'migration behind a reader',
  'lossy failover',
]);
const ON_ITS_OWN: ReadonlySet<FaultKind> = new Set(['receiver away', 'Slack away', 'older settings', 'bulk load']);

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
/** For how long the standby gets nothing before the primary is killed. */
const LOST = 6_000;
const BULK = 25_000;
/** No host takes writes for seconds, and daemons need some more. */
const APART = 10_000;
/** As long as sessions of people and shops keep their locks. */
const NEIGHBOURS: ReadonlySet<FaultKind> = new Set(['rows locked', 'migration behind a reader', 'older settings']);
const NEIGHBOURLY = [10_000, 20_000] as const;
/** Each storm has these once. */
const CERTAIN: ReadonlySet<FaultKind> = new Set(['lossy failover', 'bulk load']);

/** Plans a storm: a fault of each kind comes before any kind comes again, in an order and at times drawn from the seed. */
export function forecast({ random, kinds, length, replicas }: ForecastOptions): PlannedFault[] {
  const lengthOf = (kind: FaultKind): number => {
    if (LASTING.has(kind) && random() < LASTING_SHARE && length >= LONG_STORM) return between(random, OUTAGE, LONGEST_LASTING);
    if (NEIGHBOURS.has(kind)) return between(random, ...NEIGHBOURLY);
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
  const others = kinds.filter((kind) => !CERTAIN.has(kind));
  let deck: FaultKind[] = [];
  const spacing = Math.min(SPACING, length / (others.length + 3));
  for (let at = 0; others.length > 0 && at < length - SHORTEST; at += between(random, spacing / 2, spacing * 1.5)) {
    if (deck.length === 0) deck = [...others];
    const kind = pick(random, deck);
    deck.splice(deck.indexOf(kind), 1);
    planned.push(plan(kind, at, lengthOf(kind)));
  }
  const reserved = reserve({ random, kinds, length, plan });
  const left = reserved.reduce((faults, taken) => faults.flatMap((fault) => beside(taken, fault)), planned);
  return [...left, ...reserved].toSorted((a, b) => a.at - b.at);
}

interface Reserving extends Pick<ForecastOptions, 'random' | 'kinds' | 'length'> {
  readonly plan: (kind: FaultKind, at: number, lasts: number) => PlannedFault;
}

/** Plans the faults that each storm has. A failover keeps away from an outage: it could lose what was announced of the outage. */
function reserve({ random, kinds, length, plan }: Reserving): PlannedFault[] {
  const reserved: PlannedFault[] = [];
  const isClear = (fault: PlannedFault): boolean =>
    reserved.every(({ at, length: lasts }) => fault.at >= at + lasts + APART || at >= fault.at + fault.length + APART);
  const certain = (kind: FaultKind, lasts: number): void => {
    const draw = () => plan(kind, between(random, 0, Math.max(length - lasts, 0)), lasts);
    let fault = draw();
    for (let tries = 0; kind === 'lossy failover' && !isClear(fault) && tries < 100; tries++) fault = draw();
    if (kinds.includes(kind)) reserved.push(fault);
  };
  certain(pick(random, ['service down', 'service refuses the credentials'] as const), OUTAGE);
  if (length >= LONG_STORM) certain('recording refused', REFUSAL);
  certain('lossy failover', LOST);
  certain('bulk load', BULK);
  return reserved;
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
