/** How the connections of a daemon to the database are divided among its pools. Pure. */

/** How a pooler before the database hands out sessions. `auto`: the start finds out. */
export const POOL_MODES = ['auto', 'session', 'transaction'] as const;
export type PoolMode = (typeof POOL_MODES)[number];

/** Pools of a daemon. `listen` is one session that gets notifications. */
export const POOLS = ['listen', 'loops', 'recording', 'outbox', 'operators', 'api', 'changes', 'feed'] as const;
export type PoolName = (typeof POOLS)[number];

/** Connections of each pool at most; 0: the pool uses those of another one (`poolFor`). */
export type Shares = Readonly<Record<PoolName, number>>;

/**
 * Who gets the next connection, first of all. Polls, leases and deliveries never share with people's pages and callers of the
 * API; readiness and metrics share with the loops while there is none for them alone.
 */
const ORDER: readonly PoolName[] = [
  ...(['listen', 'loops', 'loops', 'recording', 'api'] as const),
  ...(['operators', 'changes', 'outbox', 'recording', 'api', 'loops', 'changes'] as const),
  // More connections serve many changes at once, and many readers of the feed.
  ...(['outbox', 'feed', 'recording', 'outbox', 'loops', 'api', 'feed', 'changes', 'recording', 'outbox', 'loops'] as const),
  ...(['feed', 'changes', 'feed', 'loops'] as const),
];

/** The least connections with which a daemon works, the most that are of use, and those without a setting. */
export const CONNECTIONS = { least: 5, most: ORDER.length, usual: 12 };

/** Pools that a worker lacks: it serves no API and no pages. */
const OF_THE_API: readonly PoolName[] = ['api', 'changes', 'feed'];

/** Divides `connections`, which is within the bounds of CONNECTIONS. */
export function sharesOf(connections: number, { worker = false } = {}): Shares {
  const order = worker ? ORDER.filter((pool) => !OF_THE_API.includes(pool)) : ORDER;
  const given = order.slice(0, connections);
  const count = (pool: PoolName): number => given.filter((each) => each === pool).length;
  return Object.fromEntries(POOLS.map((pool) => [pool, count(pool)])) as Shares;
}

const INSTEAD: Partial<Record<PoolName, PoolName>> = { operators: 'loops', outbox: 'recording', changes: 'api', feed: 'api' };

/** The pool whose connections a pool uses: its own, where it has any. */
export const poolFor = (shares: Shares, pool: PoolName): PoolName => (shares[pool] > 0 ? pool : (INSTEAD[pool] ?? pool));

/** The shares for a person: `12: loops 3, api 2, …`; pools that use another's connections are left out. */
export const sharesText = (shares: Shares): string =>
  POOLS.filter((pool) => shares[pool] > 0)
    .map((pool) => `${pool} ${shares[pool]}`)
    .join(', ');
