/** Neighbours of the daemons (sessions with locks, a migration, a file with thousands of purchases) must not make customers wait. */
import { BLINDING, type FaultKind } from './forecast.ts';
import type { Struck } from './rage.ts';
import type { World } from './world.ts';

/** While one of these lasts, and for some seconds after it, polls may rest whatever the neighbours do. */
const STOPPING: ReadonlySet<FaultKind> = new Set([
  ...BLINDING,
  // Calls are few, or what answers first is polled first.
  'service slow',
  'odd answers',
  'table locked',
  'recording refused',
  'lossy failover',
  'database clock forward',
  'database clock back',
]);
const RECOVERED_AFTER = 5_000;
/** A lock time-out of a migration and the rest of a statement; far less than locks last. */
const LONGEST_REST = 5_000;
/** A first poll takes less than a second while nothing else happens. */
const FIRST_POLL = 3_000;
const SAMPLED_EVERY = 300;

const stops = (struck: readonly Struck[]): readonly Struck[] => struck.filter(({ kind }) => STOPPING.has(kind));
const overlaps = (from: number, to: number, faults: readonly Struck[]): boolean =>
  faults.some((fault) => fault.from < to && from < fault.to + RECOVERED_AFTER);

interface Polled {
  readonly id: string;
  readonly polls: number;
  readonly sequence: number;
}

/** Notes when polls were recorded that changed nothing: most polls are such, and one statement records many of them. */
export function watchPolls(world: World): { readonly progress: readonly number[]; end(): void } {
  const progress: number[] = [];
  let known = new Map<string, Polled>();
  let over = false;
  const sample = async (): Promise<void> => {
    const rows = await world.sql<Polled[]>`
      select purchase_id as id, polls::float8 as polls, sequence from purchase_watch.purchases where status = 'watching'`;
    const isUnchanged = ({ id, polls, sequence }: Polled): boolean => {
      const before = known.get(id);
      return before !== undefined && before.polls < polls && before.sequence === sequence;
    };
    if (rows.some(isUnchanged)) progress.push(Date.now());
    known = new Map(rows.map((row) => [row.id, row]));
  };
  const run = async (): Promise<void> => {
    while (!over) {
      await sample().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, SAMPLED_EVERY));
    }
  };
  void run();
  return {
    progress,
    end: () => {
      over = true;
    },
  };
}

/** Times in which locks of another session, or a migration that waits for another session, kept polls from being recorded. */
export function stoppedByNeighbours(progress: readonly number[], struck: readonly Struck[]): string[] {
  const others = stops(struck);
  return struck.flatMap(({ kind, from, to }) => {
    if (kind !== 'rows locked' && kind !== 'migration behind a reader') return [];
    // A rest counts to its end, which may come long after the neighbour left.
    const end = progress.find((at) => at >= to) ?? to;
    const marks = [from, ...progress.filter((at) => from <= at && at < to), end];
    const rests = marks.slice(1).map((at, index) => ({ from: marks[index]!, to: at }));
    const longest = Math.max(
      ...rests.filter((rest) => !overlaps(rest.from, rest.to, others)).map((rest) => rest.to - rest.from),
      0,
    );
    console.info(`${kind}: polls rested for ${longest} ms at most`);
    return longest <= LONGEST_REST ? [] : [`no unchanged poll was recorded for ${longest} ms of ${to - from} ms with ${kind}`];
  });
}

/** Customers who came while a file was loaded, and whose first polls waited behind the file's. Lines and processes fail one replica at a time, so the quickest third must be quick. */
export async function waitedBehindBulk({ sql, shop }: World, struck: readonly Struck[]): Promise<string[]> {
  const rows = await sql<{ id: string; waited: number }[]>`
    select p.purchase_id as id, extract(epoch from e.created_at - p.registered_at)::float8 * 1000 as waited
    from purchase_watch_internal.events e join purchase_watch.purchases p on p.id = e.purchase where e.sequence = 1`;
  const waited = new Map(rows.map((row) => [row.id, row.waited]));
  const others = stops(struck);
  return struck.flatMap(({ kind, from, to }) => {
    if (kind !== 'bulk load') return [];
    const beside = shop.orders.filter(
      ({ at, isBulk, site }) =>
        !isBulk && site === 'south' && from + 2_000 < at && at < to && !overlaps(at, at + 2 * FIRST_POLL, others),
    );
    const sorted = beside.map(({ id }) => waited.get(id)!).toSorted((a, b) => a - b);
    const third = sorted[Math.floor(sorted.length / 3)] ?? 0;
    console.info(`bulk load: of ${sorted.length} customers beside it a third had a first poll within ${Math.round(third)} ms`);
    return third <= FIRST_POLL
      ? []
      : [`of ${sorted.length} customers beside a bulk load two thirds waited longer than ${Math.round(third)} ms`];
  });
}
