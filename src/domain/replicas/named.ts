/** What the settings of each replica name, and which shards a replica takes when replicas name different things. Pure. */

import type { Instant, Milliseconds } from '../values/time.ts';
import { SHARDS } from './ownership.ts';

/** A subscriber as the settings of one replica name it; null means all. */
export interface NamedSubscriber {
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  /** Of a channel for people a hash of its address, because only a replica with the newest address delivers; null for systems. */
  readonly address: string | null;
}

/** What the settings of one replica name. Holds no secret. */
export interface Named {
  /** By name; the values are former names of the site. */
  readonly sites: Readonly<Record<string, readonly string[]>>;
  readonly subscribers: Readonly<Record<string, NamedSubscriber>>;
}

/** A living replica and what it names; null for a daemon of an older version. */
export interface NamingReplica {
  readonly id: string;
  /** By the database's clock. */
  readonly startedAt: Instant;
  readonly named: Named | null;
}

/** Longer than a rolling deploy takes: what no living replica names for so long is not configured any more. */
export const RETIRED_AFTER: Milliseconds = 10 * 60_000;

/** For so long a shard stays with replicas that know some things before replicas that know others have it. */
const TURN: Milliseconds = 20_000;

/** The replicas among which shards are shared: this one and those that take shards. */
export interface Sharing {
  readonly own: NamingReplica;
  readonly others: readonly NamingReplica[];
  readonly now: Instant;
}

/** The part of the shards that a replica takes at a moment. */
export interface Part {
  /** Whether another replica knows everything that this one knows, and more: it takes all shards of this one. */
  readonly isOutdone: boolean;
  /** Among how many replicas these shards are shared. */
  readonly parties: number;
  /** Whether a shard is among them now. */
  includes(shard: number): boolean;
}

const whole = (others: readonly unknown[]): Part => ({ isOutdone: false, parties: 1 + others.length, includes: () => true });

/**
 * The shards of a replica. Replicas that know the same share evenly. A replica that knows less than another one takes none,
 * because it could neither poll the purchases of all sites nor send to all subscribers. Where each of two replicas knows
 * what the other one does not, each shard is with one and then with the other, so that everything is done, though late.
 */
export function partOf({ own, others, now }: Sharing): Part {
  if (own.named === null || others.every(({ named }) => named === null)) return whole(others);
  const newest = newestAddresses([own, ...others]);
  const mine = knowledgeOf(own.named, newest);
  const theirs = others.map(({ named }) => (named === null ? null : knowledgeOf(named, newest)));
  const sets = [mine, ...theirs.filter((each) => each !== null)];
  const isOutdone = sets.some((each) => each.size > mine.size && mine.isSubsetOf(each));
  if (isOutdone) return { isOutdone, parties: 1, includes: () => false };
  const keys = new Set(sets.filter((each) => !sets.some((more) => more.size > each.size && each.isSubsetOf(more))).map(keyOf));
  const turns = [...keys].sort();
  const place = turns.indexOf(keyOf(mine));
  const alike = theirs.filter((each) => each === null || keyOf(each) === turns[place]).length;
  const turn = Math.floor(now / TURN);
  return { isOutdone, parties: 1 + alike, includes: (shard) => (shard + turn) % turns.length === place };
}

/** How many of all shards are in a part. */
export function sizeOf({ includes }: Part): number {
  return Array.from({ length: SHARDS }, (_, shard) => shard).filter(includes).length;
}

/** Whether a replica was started after another one. */
export function isNewer(replica: Omit<NamingReplica, 'named'>, other: Omit<NamingReplica, 'named'>): boolean {
  const { startedAt, id } = replica;
  return startedAt > other.startedAt || (startedAt === other.startedAt && id > other.id);
}

/** Of each channel for people, the address that the replica names which was started last. */
function newestAddresses(replicas: readonly NamingReplica[]): ReadonlyMap<string, string | null> {
  const inOrder = replicas.toSorted((a, b) => (isNewer(a, b) ? 1 : -1));
  return new Map(
    inOrder.flatMap(({ named }) =>
      Object.entries(named?.subscribers ?? {}).map(([name, { address }]) => [name, address] as const),
    ),
  );
}

function knowledgeOf({ sites, subscribers }: Named, newest: ReadonlyMap<string, string | null>): Set<string> {
  const reached = Object.entries(subscribers).filter(([name, { address }]) => address === newest.get(name));
  return new Set([...Object.keys(sites).map((name) => `site ${name}`), ...reached.map(([name]) => `subscriber ${name}`)]);
}

const keyOf = (knowledge: ReadonlySet<string>): string => [...knowledge].sort().join();

type Filters = Pick<NamedSubscriber, 'types' | 'sites' | 'states'>;

/** Filters that let through what any of some filters lets through: while settings differ, no event is left out. */
export function widest(all: readonly Filters[]): Filters {
  const together = <Value>(lists: readonly (readonly Value[] | null)[]): Value[] | null =>
    lists.some((list) => list === null) ? null : [...new Set((lists as readonly (readonly Value[])[]).flat())];
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  const types = together(all.map((each) => each.types));
  const sites = together(all.map((each) => each.sites));
  return { types, sites, states: together(all.map((each) => each.states)) };
}
