/** Guards that came with a mended fault: without one, a fault of an earlier version is back. */
import type { Guard } from './guard.ts';

const LOADER = 'src/daemon/notifier/delivery-loader.ts';

export const HISTORY: readonly Guard[] = [
  {
    name: 'a row that was read just after its record',
    promise: 'a purchase that was just polled is not taken for one that was changed from outside',
    file: 'src/daemon/poller/window/window.ts',
    from: 'else if (known && !isNewer(purchase, known.purchase)) return;',
    to: '',
  },
  {
    name: 'the patrol takes nothing once the lease has ended',
    promise: 'a replica that stood still polls nothing that another one polls',
    file: 'src/daemon/poller/window/patrol.ts',
    from: 'return epoch !== undefined && ownership.mayGoOn(shard, epoch, 0);',
    to: 'return epoch !== undefined;',
  },
  {
    name: 'a transaction fails with its connection',
    promise: 'a connection that is lost in a transaction does not end the daemon',
    file: 'src/postgres/connection/database.ts',
    from: 'return wrapPool(sql, fromFirstRow, endedWithConnection);',
    to: 'return wrapPool(sql, fromFirstRow, (begin) => (endedWithConnection === undefined ? endedWithConnection : begin));',
  },
  {
    name: 'recordings that fail together count once',
    promise: 'a short failure of the database delays polls by a second',
    file: 'src/daemon/poller/after-recording.ts',
    from: 'if (now >= until) failures = isLockTimeout(error) ? 1 : failures + 1;',
    to: 'failures += 4;',
  },
  {
    name: 'a delivery that memory has already',
    promise: 'a new event does not have the outbox read again from its beginning',
    file: LOADER,
    from: 'else if (isInMemory(row, { queue, reading })) return false;',
    to: '',
  },
  {
    name: 'a restart during a load is not lost',
    promise: 'a delivery that became due during a load is sent at once',
    file: 'src/daemon/notifier/subscribers/reading.ts',
    from: 'if (generation === begunIn) readUntil = until;',
    to: 'readUntil = until;',
  },
  {
    name: 'signature over the bytes that are sent',
    promise: 'any library of Standard Webhooks verifies an event, also a CloudEvent',
    file: 'src/channels/webhook/webhook.ts',
    from: 'const { id, timestamp, signature } = sign(event.id, now, body);',
    to: 'const { id, timestamp, signature } = sign(event.id, now, event.body);',
  },
  {
    name: 'purchases in memory at most',
    promise: 'memory holds a bounded part of any number of purchases',
    file: 'src/daemon/poller/window/window.ts',
    from: 'Math.max(0, most[kind] - count(kind));',
    to: 'most[kind] + count(kind) + 1_000_000;',
  },
  {
    name: 'purchases evicted from memory are read again',
    promise: 'what is due stays due until it is polled, however many purchases there are',
    file: 'src/daemon/poller/window/window.ts',
    from: 'for (const { purchase, slot: own } of entries.evict(slot)) cursors.rewind(purchase.shard, own, purchase.id);',
    to: 'entries.evict(slot);',
  },
  {
    name: 'time that the clock skipped ends no watch',
    promise: 'a clock that steps forward ends no watch',
    file: 'src/domain/values/clock-steps.ts',
    from: 'for (const { from, until } of skipped) if (until > since && from < at) at += until - Math.max(from, since);',
    to: 'for (const { from, until } of skipped) if (until > since && from < at) at += 0;',
  },
  {
    name: 'the poller polls again at once when the site answers again',
    promise: 'a receiver is sent a change that was made during an outage within a minute of the end of the outage',
    file: 'src/daemon/poller/sites/site-reports.ts',
    from: "if (report.verdict === 'reads' && failing !== null)",
    to: "if (report.verdict === 'reads' && failing !== null && failing.since < 0)",
  },
  {
    name: 'a loss is alerted once an alert is about it',
    promise: 'people are alerted of each time that the database went back',
    file: 'src/postgres/shards/database-changes.ts',
    from: "where i.kind = 'replica' and i.alerted_at >= noticed_at and e.created_at >= noticed_at and e.body like '%\"database_went_back\"%')`,",
    to: "where i.kind = 'replica' and i.alerted_at is not null)`,",
  },
];
