/** Of an answer of /readyz: the id of the replica that answers, by which `doctor` finds the replica in its database. */
export const REPLICA_HEADER = 'purchase-watch-replica';
/** In place of an id, from a daemon that is starting: it has no place in the database yet. */
export const NO_REPLICA_YET = 'starting';
