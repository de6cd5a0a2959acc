/** Which part of the shards this replica takes, by what its settings and those of other replicas name. */
import { partOf, type SettingsNames, type ShardPart } from '../../domain/replicas/named.ts';
import type { OtherReplica, Renewal } from '../../postgres/shards/replicas.ts';
import type { Deps } from '../deps.ts';

interface PartOptions extends Pick<Deps, 'log' | 'replica'> {
  /** Sites and subscribers that this replica's settings name; unless given, the replica shares all shards evenly. */
  readonly named?: SettingsNames;
}

/** A function that answers the part beside other replicas that take shards, and logs when another one takes everything. */
export function createPart({ log, replica, named }: PartOptions) {
  let isOutdone = false;
  return (taking: readonly OtherReplica[], { insertedAt, databaseNow }: Renewal): ShardPart => {
    const others = taking.map((other) => ({ id: other.id, startedAt: other.insertedAt, named: other.named }));
    const part = partOf({ own: { id: replica, startedAt: insertedAt!, named: named ?? null }, others, now: databaseNow });
    if (part.isOutdone && !isOutdone) {
      const detail =
        'The settings of another daemon name all that those of this one name, and more, or newer addresses of channels for people.';
      const advice = 'give every daemon the same settings; the other daemon does all the work of this one meanwhile';
      log.warn({ detail, advice }, 'replica.outdone');
    } else if (!part.isOutdone && isOutdone) log.info({}, 'replica.takes_part');
    isOutdone = part.isOutdone;
    return part;
  };
}
