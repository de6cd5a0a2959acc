/** How past purchases stood every ten minutes, as upkeep would have noted it. Pure. */
import type { Standing } from '../../actions/flow/flow.ts';
import { COMPLETED } from '../../domain/deciding/invoice.ts';
import { agesOf, tenMinutesAt } from '../../domain/flow/flow.ts';
import { type PollPolicy, policyOf } from '../../domain/polling/poll-plan.ts';
import { bucketOf, configuredLimit, type Dwell, dwellBody, dwellOf, shownLimit } from '../../domain/stays/dwell.ts';
import { DAY, type Instant, MINUTE } from '../../domain/values/time.ts';
import type { SnapshotRow } from '../../postgres/reports/snapshots.ts';
import type { EndedPurchase, NotedMoment } from '../../postgres/upkeep/history.ts';
import { HISTORY_DAYS } from './customers.ts';

const STEP = 10 * MINUTE;

/** A purchase at a moment, or one that came in the ten minutes before. */
interface Here {
  readonly site: string;
  readonly came: boolean;
  /** Null: the purchase had ended. */
  readonly stay: { readonly state: number; readonly age: number; readonly stuck: boolean } | null;
}

/** The rows of each moment: of all sites together, and of each site. */
export function momentsOf(
  past: readonly EndedPurchase[],
  { now, sites, policy }: { now: Instant; sites: readonly string[]; policy: PollPolicy },
): NotedMoment[] {
  const last = tenMinutesAt(now);
  const byMoment = new Map<Instant, Here[]>();
  for (let at = last - HISTORY_DAYS * DAY; at <= last; at += STEP) byMoment.set(at, []);
  for (const purchase of past) {
    const first = purchase.transitions[0]!.notAfter;
    for (let at = tenMinutesAt(first) + STEP; at - STEP < purchase.endedAt; at += STEP)
      byMoment.get(at)?.push({ site: purchase.site, came: first > at - STEP && first <= at, stay: stayAt(purchase, at) });
  }
  const dwellIn = dwellsOf(past);
  return [...byMoment].flatMap(([at, here]) =>
    [null, ...sites].map((site) => ({ at, ...rowOf(site, here, { sites, policy, dwellIn }) })),
  );
}

/** How long those who paid stayed in a state of a site, or of all sites (null), over the whole past. */
function dwellsOf(past: readonly EndedPurchase[]): (site: string | null, state: number) => Dwell | null {
  const exits = past
    .filter(({ state }) => state === COMPLETED)
    .flatMap(({ site, transitions }) =>
      transitions.slice(1).map(({ notAfter }, place) => {
        const { to: state, notAfter: came } = transitions[place]!;
        return { site, state, bucket: bucketOf(notAfter - came) };
      }),
    );
  const dwells = new Map<string, Dwell | null>();
  const read = (site: string | null, state: number): Dwell | null => {
    const here = exits.filter((exit) => exit.state === state && (site === null || exit.site === site));
    const counts = [...Map.groupBy(here, ({ bucket }) => bucket)];
    return dwellOf(counts.map(([bucket, { length }]) => ({ bucket, shortest: length, longest: length })));
  };
  return (site, state) => dwells.getOrInsertComputed(`${site} ${state}`, () => read(site, state));
}

function stayAt({ transitions, events, endedAt }: EndedPurchase, at: Instant): Here['stay'] {
  const entered = transitions.findLast(({ notAfter }) => notAfter <= at);
  if (entered === undefined || endedAt <= at) return null;
  const stuck = events.some(({ type, at: since }) => type === 'purchase.stuck' && since <= at);
  return { state: entered.to, age: at - entered.notAfter, stuck };
}

function rowOf(
  site: string | null,
  all: readonly Here[],
  { sites, policy, dwellIn }: { sites: readonly string[]; policy: PollPolicy; dwellIn: ReturnType<typeof dwellsOf> },
): SnapshotRow {
  const here = all.filter((each) => site === null || each.site === site);
  const watched = here.flatMap(({ stay, site: name }) => (stay === null ? [] : [{ ...stay, name }]));
  const states = [...Map.groupBy(watched, ({ state }) => state)].map(([state, stays]): [number, Standing] => {
    const { stuckAfter, final } = policyOf(policy, state);
    const limit = shownLimit(configuredLimit(stuckAfter, dwellIn(site, state), state), null);
    const waiting = stays.map(({ age, stuck }) => ({ age, stuck, share: stuckAfter === null ? null : age / stuckAfter }));
    const { oldest, buckets, unread } = agesOf(waiting, stays.length);
    const ages = { oldest: oldest.map(({ age, ...each }) => ({ ageMs: age, ...each })), buckets, unread };
    return [
      state,
      {
        final,
        watching: stays.length,
        stuck: stays.filter(({ stuck }) => stuck).length,
        usual: dwellBody(dwellIn(site, state)),
        ages,
        limits:
          limit === null
            ? []
            : sites.filter((name) => stays.some((stay) => stay.name === name)).map((name) => ({ site: name, limit })),
      },
    ];
  });
  const stuck = watched.filter((each) => each.stuck).length;
  const came = here.filter((each) => each.came).length;
  return { site, came, watching: watched.length, stuck, states: JSON.stringify(states) };
}
