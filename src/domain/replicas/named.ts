/** Sites and subscribers that each replica's settings name, and the shards it takes when others name different ones. Pure. */

import { humanDuration } from '../values/duration.ts';
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

/** Sites and subscribers that the settings of one replica name. Holds no secret. */
export interface SettingsNames {
  /** By name; the values are former names of the site. */
  readonly sites: Readonly<Record<string, readonly string[]>>;
  readonly subscribers: Readonly<Record<string, NamedSubscriber>>;
}

/** A living replica and what it names; null for a daemon of an older version. */
export interface NamingReplica {
  readonly id: string;
  /** By the database's clock. */
  readonly startedAt: Instant;
  readonly named: SettingsNames | null;
}

/** Longer than a rolling deploy takes: what no living replica names for so long is not configured any more. */
export const RETIRED_AFTER: Milliseconds = 10 * 60_000;

/** For so long a shard stays with replicas that know some things before replicas that know others have it. */
const TURN: Milliseconds = 20_000;

/** The part of the shards that a replica takes at a moment. */
export interface ShardPart {
  /** Whether another replica knows everything that this one knows, and more: it takes all shards of this one. */
  readonly isOutdone: boolean;
  /** Among how many replicas these shards are shared. */
  readonly parties: number;
  /** Whether a shard is among them now. */
  includes(shard: number): boolean;
}

/**
 * The shards of a replica. Replicas that know the same share evenly. A replica that knows less than another one takes none,
 * because it could neither poll the purchases of all sites nor send to all subscribers. Where each of two replicas knows
 * what the other one does not, each shard is with one and then with the other, so that everything is done, though late.
 */
export function partOf({ own, others, now }: { own: NamingReplica; others: readonly NamingReplica[]; now: Instant }): ShardPart {
  if (own.named === null) return { isOutdone: false, parties: 1 + others.length, includes: () => true };
  const newest = newestAddresses([own, ...others]);
  const mine = knowledgeOf(own.named, newest);
  const theirs = others.map(({ named }) => (named === null ? null : knowledgeOf(named, newest)));
  const turns = turnsOf([mine, ...theirs.filter((each) => each !== null)]);
  const place = turns.indexOf(keyOf(mine));
  if (place === -1) return { isOutdone: true, parties: 1, includes: () => false };
  const alike = theirs.filter((each) => each === null || keyOf(each) === turns[place]).length;
  const turn = Math.floor(now / TURN);
  return { isOutdone: false, parties: 1 + alike, includes: (shard) => (shard + turn) % turns.length === place };
}

/** Sets of names that one replica knows and no other one exceeds, as keys, in the order of their turns. */
function turnsOf(all: readonly ReadonlySet<string>[]): string[] {
  const most = all.filter((each) => !all.some((more) => more.size > each.size && each.isSubsetOf(more)));
  return [...new Set(most.map(keyOf))].sort();
}

/** Sites and subscribers that only some replicas know, and that wait for the turn of these replicas with each shard. */
export interface ShardTurns {
  /** How many turns there are, one after the other. */
  readonly count: number;
  readonly waiting: readonly {
    /** `site` or `subscriber`, and its name. */
    readonly what: string;
    /** Ids of the replicas that know it and have a turn. */
    readonly replicas: readonly string[];
    /** The places of their turns. */
    readonly places: readonly number[];
  }[];
}

/** The turns that replicas take with each shard; null when they take none, because one of them knows everything. */
export function turnsAmong(replicas: readonly NamingReplica[]): ShardTurns | null {
  const newest = newestAddresses(replicas);
  const known = replicas.flatMap(({ id, named }) => (named === null ? [] : [{ id, knows: knowledgeOf(named, newest) }]));
  const turns = turnsOf(known.map(({ knows }) => knows));
  if (turns.length < 2) return null;
  const taking = known.map((each) => ({ ...each, place: turns.indexOf(keyOf(each.knows)) })).filter(({ place }) => place !== -1);
  const waiting = [...new Set(taking.flatMap(({ knows }) => [...knows]))].sort().flatMap((what) => {
    const knowing = taking.filter(({ knows }) => knows.has(what));
    const places = [...new Set(knowing.map(({ place }) => place))];
    return places.length === turns.length ? [] : [{ what, places, replicas: knowing.map(({ id }) => id) }];
  });
  return { count: turns.length, waiting };
}

/** How long what only some replicas know waits for their turn at most. */
export function longestTurn({ count }: ShardTurns): Milliseconds {
  return (count - 1) * TURN;
}

/** The turns in words, as clauses: which sites and subscribers only some replicas know, and how long their polls and deliveries may be late. */
export function turnsText(turns: ShardTurns): string {
  const each = turns.waiting
    .slice(0, MOST_LISTED)
    .map(({ what, replicas }) => `${what} is in the settings of ${new Intl.ListFormat('en').format(replicas)} alone`);
  const more = turns.waiting.length - each.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return `${[...each, ...rest].join(', ')}; each shard of purchases is with daemons of the same settings for ${humanDuration(TURN)}, and then with others, so polls and deliveries wait up to ${humanDuration(longestTurn(turns))} for their daemon's turn`;
}

/** Sites and subscribers that a sentence about turns names. */
const MOST_LISTED = 5;

/** When the next turn of a shard with replicas that know a site begins; null while such replicas have the turn, or all know the site. */
export function nextTurn(turns: ShardTurns, { site, shard, now }: { site: string; shard: number; now: Instant }): Instant | null {
  const places = turns.waiting.find(({ what }) => what === siteWords(site))?.places;
  const turn = Math.floor(now / TURN);
  const ahead = Array.from({ length: turns.count }, (_, step) => step);
  const step = ahead.findIndex((each) => places === undefined || places.includes((shard + turn + each) % turns.count));
  return step <= 0 ? null : (turn + step) * TURN;
}

/** How many of all shards are in a part. */
export function sizeOf({ includes }: ShardPart): number {
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

function knowledgeOf({ sites, subscribers }: SettingsNames, newest: ReadonlyMap<string, string | null>): Set<string> {
  const reached = Object.entries(subscribers).filter(([name, { address }]) => address === newest.get(name));
  return new Set([...Object.keys(sites).map(siteWords), ...reached.map(([name]) => `subscriber ${name}`)]);
}

const siteWords = (name: string): string => `site ${name}`;
const keyOf = (knowledge: ReadonlySet<string>): string => [...knowledge].sort().join();

type Filters = Pick<NamedSubscriber, 'types' | 'sites' | 'states'>;

/** Filters that let through what any of some filters lets through: while settings differ, no event is left out. */
export function widest(all: readonly Filters[]): Filters {
  const together = <Value>(lists: readonly (readonly Value[] | null)[]): Value[] | null =>
    lists.some((list) => list === null) ? null : [...new Set((lists as readonly (readonly Value[])[]).flat())];
  if (all.length === 1) return all[0]!;
  const [types, sites] = [together(all.map((each) => each.types)), together(all.map((each) => each.sites))];
  return { types, sites, states: together(all.map((each) => each.states)) };
}
