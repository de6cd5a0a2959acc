/** Names and numbers of the migrations that statements must use alike. */
import { SHARDS } from '../../domain/replicas/ownership.ts';

/** Names of the work that one replica does at a time: rows of `leases`. */
export const LEASES = { judge: 'judge', upkeep: 'upkeep', deadMansSwitch: 'dead_mans_switch' } as const;
export type LeaseName = (typeof LEASES)[keyof typeof LEASES];

/**
 * First polls of bulk registrations lie in slots of the queue from here on, behind all others; the same as in
 * `purchase_watch_internal.bulk_slot`.
 */
export const FIRST_BULK_SLOT = 1_000_000_000;

/** SQL: each shard as a row `g (shard)`. Written out, because for a parameter the planner expects a thousand rows. */
export const EVERY_SHARD = `generate_series(0, ${SHARDS - 1}) g (shard)`;
