/** Names and numbers of the migrations that statements must use alike. */
import { SHARDS } from '../../domain/replicas/ownership.ts';

/** Names of the work that one replica does at a time: rows of `leases`. */
export const LEASES = { judge: 'judge', upkeep: 'upkeep', deadMansSwitch: 'heartbeat' } as const;
export type LeaseName = (typeof LEASES)[keyof typeof LEASES];

/** SQL: each shard as a row `g (shard)`. Written out, because for a parameter the planner expects a thousand rows. */
export const EVERY_SHARD = `generate_series(0, ${SHARDS - 1}) g (shard)`;
