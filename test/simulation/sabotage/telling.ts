/** Guards of telling: each receiver gets each event, with the same bytes, in order. */
import type { Guard } from './guard.ts';

const SETTLE = 'src/postgres/deliveries/settle.ts';
const LOADER = 'src/daemon/notifier/delivery-loader.ts';
const QUEUE = 'src/daemon/notifier/subscribers/subscriber-queue.ts';
const WEBHOOK = 'src/channels/webhook/webhook.ts';
const RESULTS = 'src/daemon/notifier/delivery-results.ts';
const ATTEMPTS = 'src/daemon/notifier/sending/attempts.ts';

export const TELLING: readonly Guard[] = [
  {
    name: 'one delivery of a purchase at a time',
    promise: 'no event is on its way to a receiver twice at a time',
    file: QUEUE,
    from: 'if (lane.sending === 0) ready.add(lane);',
    to: 'ready.add(lane);',
  },
  {
    name: 'order within a purchase in memory',
    promise: 'a receiver gets the events of a purchase in order, also through retries',
    file: QUEUE,
    from: 'while (place > sending && isBehind(waiting[place - 1]!, delivery)) place -= 1;',
    to: 'while (place < sending && isBehind(waiting[place - 1]!, delivery)) place -= 1;',
  },
  {
    name: 'a delivery waits for the one before it',
    promise: 'a receiver gets the events of a purchase in order, also through retries',
    file: LOADER,
    from: 'else if (row.behind === null || isBefore(queue.get(row.behind.id), row.behind, row.lane)) {',
    to: 'else if (row.behind === null || row.id > 0) {',
  },
  {
    name: 'events that wait in the outbox are sent before new events',
    promise: 'a receiver gets the events of a purchase in order, also after a pause',
    file: LOADER,
    from: 'if (delivery.id <= reading.highestRead || !reading.isCaughtUp || roomOf',
    to: 'if (delivery.id < 0 || roomOf',
  },
  {
    name: 'a delivery that was taken during a load',
    promise: 'no delivery is sent twice without a reason',
    file: LOADER,
    from: 'else if (takenMeanwhile.has(row.id)) reading.restart();',
    to: 'else if (takenMeanwhile.has(-row.id)) reading.restart();',
  },
  {
    name: 'a load of a shard that was lost meanwhile',
    promise: 'one replica delivers the events of a purchase at a time',
    file: LOADER,
    from: 'if (!isHeld || pausedUntil(health, clock.now()) !== null) reading.restart();',
    to: 'if (pausedUntil(health, clock.now()) !== null) reading.restart();',
  },
  {
    name: 'reads of the outbox follow one another',
    promise: 'no delivery is sent twice without a reason',
    file: 'src/daemon/notifier/notifier.ts',
    from: 'const next = reading.then(work);',
    to: 'const next = reading === null ? reading : work();',
  },
  {
    name: 'the outbox is read from the beginning now and then',
    promise: 'no due delivery is missed for good',
    file: LOADER,
    from: 'const dueSince = late ? 0 : reading.readUntil;',
    to: 'const dueSince = reading.readUntil;',
  },
  {
    name: 'an event that is committed late',
    promise: 'an event is delivered within a second of its commit',
    file: LOADER,
    from: 'Math.floor(Math.min(until ?? now, now - LATE_COMMITS)) - 1',
    to: 'Math.floor(Math.min(until ?? now, now + 0 * LATE_COMMITS)) - 1',
  },
  {
    name: 'an attempt begins within the lease alone',
    promise: 'two replicas never send one delivery at a time',
    file: 'src/daemon/notifier/sending/choosing.ts',
    from: 'if (delivery !== null && epoch !== null && ownership.mayBegin(delivery.shard, timeFor(recipient)))',
    to: 'if (delivery !== null && epoch !== null)',
  },
  {
    name: 'the lease is looked at right before a request leaves',
    promise: 'a replica that stood still sends nothing that another one sends',
    file: ATTEMPTS,
    from: 'return !isWithheld;',
    to: 'return isWithheld || true;',
  },
  {
    name: 'a result follows the last one of its delivery',
    promise: 'a result that is written late does not undo a newer one',
    file: SETTLE,
    from: 'const FOLLOWS = `d.settled_at is null and d.attempts = r.number - 1 and',
    to: 'const FOLLOWS = `',
  },
  {
    name: 'mark of a delivery',
    promise: 'a result never settles another delivery, to which a database that went back gave the same id',
    file: SETTLE,
    from: `d.subscriber = r.subscriber
        and d.mark is not distinct from r.mark\`;`,
    to: 'd.subscriber = r.subscriber`;',
  },
  {
    name: 'deliveries behind a failed one are put off',
    promise: 'a receiver gets the events of a purchase in order, also through retries',
    file: SETTLE,
    from: `  await putOff(
    sql,
    waiting.map(`,
    to: `  await putOff(
    sql,
    waiting.slice(batch.length).map(`,
  },
  {
    name: 'a lane that is free again is due at once',
    promise: 'what waited behind a failed delivery goes out as soon as that got through',
    file: SETTLE,
    from: 'await freeFollowers(sql, batch.filter(freeing));',
    to: 'await freeFollowers(sql, batch.slice(batch.length).filter(freeing));',
  },
  {
    name: 'results are written until they are',
    promise: 'an event that a receiver took is not sent again because the database was away for a moment',
    file: RESULTS,
    from: 'await clock.sleep(rest, context.pauseEnd());',
    to: 'return { written: new Set(), unwritable: new Set(), locked: [] };',
  },
  {
    name: 'nothing is sent while results cannot be written',
    promise: 'a database that is away does not have every event sent again and again',
    file: 'src/daemon/notifier/settling.ts',
    from: `  const onTrouble = (): void => {
    isStuck = true;`,
    to: `  const onTrouble = (): void => {
    isStuck = false;`,
  },
  {
    name: 'a failed delivery is read again',
    promise: 'each event is tried again until it is taken',
    file: 'src/daemon/notifier/settling.ts',
    from: 'queue.giveUp(delivery);',
    to: '',
  },
  {
    name: 'a stop waits for results',
    promise: 'a daemon that is stopped leaves no delivery that is sent again',
    file: 'src/daemon/notifier/notifier.ts',
    from: `      await starting;
      await quiet();`,
    to: '      await starting;',
  },
  {
    name: 'only a good answer takes an event',
    promise: 'whatever is not answered with 2xx is tried again',
    file: WEBHOOK,
    from: 'return status >= 200 && status < 300;',
    to: 'return status >= 200 && status < 600;',
  },
  {
    name: 'an answer counts when it is complete',
    promise: 'an event whose receiver broke off is sent again',
    file: WEBHOOK,
    from: 'if (error === null && status !== null && isGood(status)) return',
    to: 'if (status !== null && isGood(status)) return',
  },
  {
    name: 'one id for all attempts',
    promise: 'a receiver can drop repeats by webhook-id',
    file: WEBHOOK,
    from: `{ now, signal, mayLeave, trace }: SendOptions): Promise<SendResult> {
      const started = monotonic();
      const body = isCloudEvent ? toCloudEvent(event.body) : event.body;
      const { id, timestamp, signature } = sign(event.id, now, body);`,
    to: `{ now, signal, mayLeave, trace, attempt }: SendOptions): Promise<SendResult> {
      const started = monotonic();
      const body = isCloudEvent ? toCloudEvent(event.body) : event.body;
      const { id, timestamp, signature } = sign(\`\${event.id}\${attempt > 1 ? attempt : ''}\`, now, body);`,
  },
  {
    name: 'moment of each attempt in its signature',
    promise: 'a receiver that refuses old signatures takes an event that was retried for hours',
    file: WEBHOOK,
    from: 'sign(event.id, now, body);',
    to: 'sign(event.id, event.createdAt, body);',
  },
  {
    name: 'the body is sent as it is stored',
    promise: 'bytes announced are bytes stored',
    file: 'src/postgres/deliveries/new-deliveries.ts',
    from: 'event: { id, type, body, createdAt: at },',
    to: "event: { id, type, body: body.replace('{', '{ '), createdAt: at },",
  },
  {
    name: 'a whole schedule before an event is given up',
    promise: 'each event is tried for as long as the schedule says',
    file: RESULTS,
    from: 'const attempts = number - delivery.attemptsBefore;',
    to: 'const attempts = 2 * number - delivery.attemptsBefore;',
  },
  {
    name: 'an attempt that failed on this side is not counted against the receiver',
    promise: 'the daemon does not give an event up because its own network cannot reach the receiver',
    file: SETTLE,
    from: 'attempts_before = d.attempts_before + r.uncounted,',
    to: 'attempts_before = d.attempts_before + 0 * r.uncounted,',
  },
  {
    name: 'one try after a pause',
    promise: 'a receiver that was paused gets one delivery, and not all at once',
    file: 'src/daemon/notifier/subscribers/health-in-memory.ts',
    from: `    if (inFlight > 0 || health.trying === 'asking') return 'no';
    return health.trying === 'yes' ? 'yes' : 'ask';`,
    to: `    return inFlight >= 0 ? 'yes' : 'ask';`,
  },
  {
    name: 'failures in a row pause a receiver',
    promise: 'a receiver that is down is not called for each event',
    file: 'src/domain/deliveries/subscriber-health.ts',
    from: 'const isPause = failures >= FAILURES_TO_PAUSE && !isLimit;',
    to: 'const isPause = failures >= 1_000 * FAILURES_TO_PAUSE && !isLimit;',
  },
];
