// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts of guards hold placeholders of the product
/** Guards of leases and shards: one replica at a time does one piece of work, and notices another database. */
import type { Guard } from './guard.ts';

const OWNERSHIP = 'src/daemon/shards/ownership.ts';
const HELD = 'src/daemon/shards/held-shards.ts';
const REPLICAS = 'src/postgres/shards/replicas.ts';
const LEASES = 'src/postgres/shards/leases.ts';

export const SHARING: readonly Guard[] = [
  {
    name: 'a lease counts once the database confirmed it',
    promise: 'a replica that is cut off from the database stops in time',
    file: OWNERSHIP,
    from: 'const renewed = lease.renew();',
    to: `const renewed = lease.renew();
      renewed();`,
  },
  {
    name: 'a lease counts from when it was asked for',
    promise: 'a replica that stood still during a renewal knows that its lease is over',
    file: 'src/daemon/shards/lease.ts',
    from: 'endsAt = asked.at + ttl;',
    to: 'endsAt = clock.monotonic() + ttl;',
  },
  {
    name: 'a lease has an end',
    promise: 'a replica that was frozen does nothing when it wakes',
    file: 'src/daemon/shards/lease.ts',
    from: 'clock.monotonic() + need < endsAt && Math',
    to: 'endsAt > 0 && need < ttl && Math',
  },
  {
    name: 'a lease is over for others as late as for its replica',
    promise: 'no replica takes over from one that may still act',
    file: 'src/daemon/shards/other-replicas.ts',
    from: 'if (now - seen.get(row.id)!.since >= leaseMs &&',
    to: 'if (now - seen.get(row.id)!.since >= 5_000 &&',
  },
  {
    name: 'a replica that has renewed since is not expired',
    promise: 'no replica takes over from one that may still act',
    file: REPLICAS,
    from: 'deleteReplica(sql, id, sql`and expires_at = ${renewal}::text::timestamptz`);',
    to: 'deleteReplica(sql, id, sql`and ${renewal}::text is not null`);',
  },
  {
    name: 'a shard that is taken over gets another epoch',
    promise: 'what its last owner began is refused',
    file: REPLICAS,
    from: 'set owner = ${replica}, epoch = epoch + 1 from locked',
    to: 'set owner = ${replica}, epoch = epoch from locked',
  },
  {
    name: 'a shard of a replica that is leaving is not taken',
    promise: 'a shard has one owner at a time, also while a daemon is stopped',
    file: REPLICAS,
    from: 'where (s.owner is null or not exists (select from purchase_watch_internal.replicas r where r.id = s.owner))',
    to: 'where (s.owner is null or not exists (select from purchase_watch_internal.replicas r where r.id = s.owner and not r.leaving))',
  },
  {
    name: 'a replica without a row takes nothing',
    promise: 'a replica whose lease is over takes no shards',
    file: REPLICAS,
    from: 'and exists (select from purchase_watch_internal.replicas r where r.id = ${replica})),',
    to: '),',
  },
  {
    name: 'a replica whose row was deleted starts over',
    promise: 'what another replica may have done meanwhile is read again',
    file: OWNERSHIP,
    from: `if (renewal.startedAt === startedAt) shards.adopt(renewal.holdings);
      else`,
    to: `startedAt ??= renewal.startedAt;
      shards.adopt(renewal.holdings);
      if (renewal.startedAt === null)`,
  },
  {
    name: 'a shard with another epoch is another holding',
    promise: 'a shard that went to another replica and came back is read again',
    file: HELD,
    from: 'const lost = [...held].filter(([shard, { epoch }]) => now.get(shard) !== epoch)',
    to: 'const lost = [...held].filter(([shard]) => !now.has(shard))',
  },
  {
    name: 'a shard is given away when nothing is under way',
    promise: 'no poll or delivery is repeated because replicas divide the shards again',
    file: HELD,
    from: '.filter(([, { leaving, busy }]) => leaving && busy === 0);',
    to: '.filter(([, { leaving }]) => leaving);',
  },
  {
    name: 'a shard whose release is not confirmed stays unused',
    promise: 'a replica uses no shard that another one may take',
    file: HELD,
    from: '!held.has(shard) && !releasing.has(shard)',
    to: '!held.has(shard)',
  },
  {
    name: 'work of a lost shard does not count for the one that came back',
    promise: 'a shard is given away only when nothing is under way on it',
    file: HELD,
    from: 'if (holding?.epoch === epoch && holding.busy > 0) holding.busy -= 1;',
    to: 'if (holding !== undefined && epoch >= 0) holding.busy -= 1;',
  },
  {
    name: 'epoch of the judge’s lease in what it writes',
    promise: 'one message for an incident, whichever replicas judge',
    file: LEASES,
    from: 'owner = ${replica} and epoch = ${epoch} for share)`;',
    to: '${replica}::text is not null and ${epoch}::bigint >= 0 for share)`;',
  },
  {
    name: 'another epoch after a look that failed',
    promise: 'a statement of the judge that runs late writes no second message',
    file: 'src/daemon/judge/judge.ts',
    from: 'if (isUnsure) await raiseLease(sql, { name: LEASES.judge, replica });',
    to: 'if (isUnsure && replica === LEASES.judge) await raiseLease(sql, { name: LEASES.judge, replica });',
  },
  {
    name: 'a lease of a replica that is leaving is not taken',
    promise: 'one replica judges at a time, also while a daemon is stopped',
    file: LEASES,
    from: '(l.owner is null or not exists (select from purchase_watch_internal.replicas o where o.id = l.owner))',
    to: '(l.owner is null or not exists (select from purchase_watch_internal.replicas o where o.id = l.owner and not o.leaving))',
  },
  {
    name: 'a database that went back is noticed',
    promise: 'after a failover that lost writes, purchases and events are as the database has them',
    file: REPLICAS,
    from: `where \${confirmed}::bigint = 0
        or exists (select from purchase_watch_internal.renewals where replica = \${id} and number >= \${confirmed}::bigint)`,
    to: 'where ${confirmed}::bigint >= 0',
  },
  {
    name: 'epochs skip ahead when the database went back',
    promise: 'nothing that was begun before a failover is recorded after it',
    file: 'src/postgres/shards/database-changes.ts',
    from: 'await tx`update purchase_watch_internal.shards set epoch = epoch + ${EPOCHS_SKIPPED}::bigint`;',
    to: 'await tx`update purchase_watch_internal.shards set epoch = epoch + 0 * ${EPOCHS_SKIPPED}::bigint`;',
  },
  {
    name: 'a new era of the feed when the database went back',
    promise: 'a cursor of the feed skips no event after a failover',
    file: 'src/postgres/shards/database-changes.ts',
    from: 'await tx`update purchase_watch_internal.feed_era set origin = null`;',
    to: '',
  },
  {
    name: 'memory goes when the database went back',
    promise: 'after a failover that lost writes, purchases and events are as the database has them',
    file: 'src/daemon/shards/database-change.ts',
    from: `    known = null;
    forget();`,
    to: '    known = null;',
  },
];
