/** Guards of polling and recording: a state is true, is recorded once, and nothing that is due is forgotten. */
import type { Guard } from './guard.ts';

const RECORD = 'src/postgres/polling/record.ts';
const AFTER = 'src/daemon/poller/after-recording.ts';
const WINDOW = 'src/daemon/poller/window';

export const RECORDING: readonly Guard[] = [
  {
    name: 'owner and epoch of the shard in what is recorded',
    promise: 'a replica that lost its shard writes nothing',
    file: 'src/postgres/deliveries/settle.ts',
    from: `on h.shard = s.id and h.epoch = s.epoch
    where s.owner = \${replica} order by`,
    to: `on h.shard = s.id order by`,
  },
  {
    name: 'epoch of the shard in what is recorded',
    promise: 'what began before a shard changed hands is not recorded after it came back',
    file: 'src/postgres/deliveries/settle.ts',
    from: 'on h.shard = s.id and h.epoch = s.epoch',
    to: 'on h.shard = s.id',
  },
  {
    name: 'lock of the shard while something is recorded',
    promise: 'no shard is taken over while a statement writes under its epoch',
    file: 'src/postgres/deliveries/settle.ts',
    from: 'order by s.id for share of s)',
    to: 'order by s.id)',
  },
  {
    name: 'number of polls in a recorded change',
    promise: 'an older poll never overwrites a newer one',
    file: RECORD,
    from: `and p.polls = r.polls - 1
    returning p.id, p.site`,
    to: `
    returning p.id, p.site`,
  },
  {
    name: 'number of polls in a recorded poll without a change',
    promise: 'an older poll never sets the times of a newer one back',
    file: RECORD,
    from: `and p.polls = r.polls - 1
      returning p.id)`,
    to: `
      returning p.id)`,
  },
  {
    name: 'revision in a recorded change',
    promise: 'what a person or program changed in a row is not overwritten by a poll that began before',
    file: RECORD,
    from: `and p.revision = r.revision and p.polls = r.polls - 1
    returning p.id, p.site`,
    to: `and p.polls = r.polls - 1
    returning p.id, p.site`,
  },
  {
    name: 'revision in a recorded poll without a change',
    promise: 'a poll that was asked for, or a watch that was renewed, is not lost to a poll that began before',
    file: RECORD,
    from: `and p.revision = r.revision and p.polls = r.polls - 1
      returning p.id)`,
    to: `and p.polls = r.polls - 1
      returning p.id)`,
  },
  {
    name: 'purchase id in a recorded change',
    promise: 'a poll of one purchase is never written to another, to which a database that went back gave the same row id',
    file: RECORD,
    from: `p.id = r.id and p.site || '/' || p.purchase_id = r.purchase and p.revision = r.revision and p.polls = r.polls - 1
    returning p.id, p.site`,
    to: `p.id = r.id and p.revision = r.revision and p.polls = r.polls - 1
    returning p.id, p.site`,
  },
  {
    name: 'reference in a recorded change',
    promise:
      'each event carries the reference and the metadata that the purchase has in the database, also after a person changed them there by SQL',
    file: RECORD,
    from: `where p.reference is not distinct from r.reference and (p.metadata is not null) = r.has_metadata
      and p.id = r.id`,
    to: 'where p.id = r.id',
  },
  {
    name: 'events of written rows alone',
    promise: 'a change and its event are stored together, or neither is',
    file: RECORD,
    from: 'else e.purchase in (select id from written) end`;',
    to: 'else true end`;',
  },
  {
    name: 'transitions of written rows alone',
    promise: 'a change and its transition are stored together, or neither is',
    file: RECORD,
    from: `join written using (id)
    returning purchase, from_state, to_state, not_after\``,
    to: `returning purchase, from_state, to_state, not_after\``,
  },
  {
    name: 'a failed recording is read again',
    promise: 'a purchase whose recording failed is polled again within seconds',
    file: AFTER,
    from: 'for (const { entry } of batch) readRowAgain(entry, poison ? POISON_REST : 0);',
    to: `for (const { entry } of batch) {
      windows.get(entry.purchase.site)?.settle(entry, null);
      ownership.end(entry.purchase.shard, entry.epoch);
    }`,
  },
  {
    name: 'after a failed recording the poller reads the rows of its purchases again',
    promise: 'the service is not asked in vain after the connection broke while the daemon recorded a poll',
    file: AFTER,
    from: 'for (const { entry } of batch) readRowAgain(entry, poison ? POISON_REST : 0);',
    to: `for (const { entry } of batch) {
      windows.get(entry.purchase.site)?.settle(entry, { purchase: entry.purchase, dueAt: entry.dueAt, slot: entry.slot });
      ownership.end(entry.purchase.shard, entry.epoch);
    }`,
  },
  {
    name: 'a refused poll reads its row again',
    promise: 'a purchase that was changed from outside is polled on',
    file: AFTER,
    from: 'const isStale = !isAccepted && !entry.gone && !isLost;',
    to: 'const isStale = false;',
  },
  {
    name: 'a row that its cursor passed is loaded by id',
    promise: 'what is due stays due until it is polled',
    file: AFTER,
    from: 'const isPassed = isAccepted && next === null && slot !== null && window.hasPassed(shard, slot, id);',
    to: 'const isPassed = false;',
  },
  {
    name: 'new deliveries of shards held since alone',
    promise: 'one replica delivers the events of a purchase at a time',
    file: AFTER,
    from: 'shards.has(shard) && epochOf(shard) === epochs.get(lane)',
    to: 'true',
  },
  {
    name: 'a purchase that leaves memory during a load',
    promise: 'no older row takes the place of what was just recorded',
    file: `${WINDOW}/rereads.ts`,
    from: 'if (isLoading) leavers.add(id);',
    to: 'if (id < 0) leavers.add(id);',
  },
  {
    name: 'a cursor that was moved back stays there',
    promise: 'what is due stays due until it is polled',
    file: `${WINDOW}/cursors.ts`,
    from: 'if (cursors.get(cursor.shard) === cursor) cursors.set',
    to: 'cursors.set',
  },
  {
    name: 'a busy purchase keeps its newer row for later',
    promise: 'polls of one purchase never overlap',
    file: `${WINDOW}/window.ts`,
    from: `    else if (known?.busy) {
      known.newer = row;
      return;
    } else if (known)`,
    to: `    else if (known)`,
  },
  {
    name: 'a newer row than memory is heeded',
    promise: 'a purchase that a person asked for is polled at once',
    file: `${WINDOW}/window.ts`,
    from: 'return row.revision !== known.revision || row.polls > known.polls;',
    to: 'return row.polls > known.polls;',
  },
  {
    name: 'another purchase under a known row id',
    promise: 'the answer about a purchase that the database lost is dropped',
    file: `${WINDOW}/window.ts`,
    from: 'row.purchaseId !== known.purchaseId;',
    to: 'false;',
  },
  {
    name: 'old nudges go before the queue is read',
    promise: 'a purchase that is registered while a shard is taken over is polled at once',
    file: `${WINDOW}/purchase-loader.ts`,
    from: `        await nudged.dropOld();
        const owned = ownership.owned();
        if (owned.length === 0) {
          // Nothing that is due can get room here.
          for (const window of windows.values()) window.setPressure(false);
          return false;
        }
        const more = [await loadById(), await nudged.load(owned), await readDue()];`,
    to: `        const owned = ownership.owned();
        if (owned.length === 0) return false;
        const more = [await loadById(), await readDue()];
        await nudged.dropOld();
        more.push(await nudged.load(owned));`,
  },
  {
    name: 'sweep of the poller',
    promise: 'a lost notification costs seconds',
    file: 'src/daemon/poller/poller.ts',
    from: 'return [...windows.values()].some((window) => window.pressed()) ? MAKING_ROOM : SWEEP;',
    to: 'return [...windows.values()].some((window) => window.pressed()) ? MAKING_ROOM : 3_600_000;',
  },
  {
    name: 'patrol of the queue',
    promise: 'a purchase that is in no memory and beyond no cursor is found within two minutes',
    file: `${WINDOW}/purchase-loader.ts`,
    from: 'await patrol(owned);',
    to: '',
  },
  {
    name: 'a poll begins within the lease alone',
    promise: 'polls of one purchase never overlap, over all replicas',
    file: 'src/daemon/poller/planning.ts',
    from: `  if (!ownership.mayBegin(purchase.shard, need)) {
    window.settle(entry, { purchase, dueAt: now + RENEWAL_REST, slot });
    return SKIPPED;
  }
`,
    to: '',
  },
  {
    name: 'an answer about a lost shard is dropped',
    promise: 'a poll of a shard that was given away changes nothing',
    file: 'src/daemon/poller/recorder.ts',
    from: `const live = polls.filter((poll) => !poll.entry.gone);
    if (live.length === 0) {`,
    to: `const live = polls;
    if (live.length === 0) {`,
  },
  {
    name: 'time of a purchase never runs backwards',
    promise: 'changes of a purchase are in the order of their times, whichever replica recorded them',
    file: 'src/daemon/poller/polls.ts',
    from: 'const now = Math.max(read, askedAt, before.seenAt ?? 0);',
    to: 'const now = read;',
  },
  {
    name: 'refused changes are written in halves',
    promise: 'a purchase that the database refuses does not keep others from being recorded',
    file: 'src/daemon/poller/recorder.ts',
    from: 'if (isAboutData(error)) return refused(polls, write, error);',
    to: '',
  },
  {
    name: 'a stop waits for what is to be recorded',
    promise: 'a daemon that is stopped has recorded what it was answered',
    file: 'src/daemon/poller/poller.ts',
    from: `      while (underWay() > 0 || recorder.pending() > 0) {
        await startAll();
        await recorder.drain();
      }`,
    to: '',
  },
];
