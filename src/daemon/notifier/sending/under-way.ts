/** Shows slow attempts to people: an attempt that takes more than a moment is noted in the database, and the note is erased at its end. */

import type { Instant, Milliseconds } from '../../../domain/values/time.ts';
import { endUnderWay, noteUnderWay } from '../../../postgres/deliveries/under-way.ts';
import { startTimer } from '../../../runtime/time.ts';
import type { Deps } from '../../deps.ts';

export type UnderWayNotes = ReturnType<typeof createUnderWayNotes>;

/** Most attempts have ended by then and are never noted. */
const SHOWN_AFTER: Milliseconds = 1_000;

export function createUnderWayNotes({ sql, clock, log, replica }: Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'>) {
  const attempts = new Map<number, { shard: number; epoch: number; since: Instant; begun: Milliseconds; isNoted: boolean }>();
  let toErase: number[] = [];
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();
  let stopped = false;

  const write = async (): Promise<void> => {
    const old = clock.monotonic() - SHOWN_AFTER;
    const fresh = [...attempts].filter(([, { begun, isNoted }]) => !isNoted && begun <= old);
    const erased = toErase;
    toErase = [];
    try {
      for (const [, attempt] of fresh) attempt.isNoted = true;
      await noteUnderWay(
        sql,
        replica,
        fresh.map(([delivery, { shard, epoch, since }]) => ({ delivery, shard, epoch, since })),
      );
      if (erased.length > 0) await endUnderWay(sql, erased);
    } catch (error) {
      // Only people read these notes, so the note of an ended attempt may stay for a moment.
      log.debug({ error }, 'delivery.under_way_unknown');
      toErase.push(...erased);
    }
    plan();
  };
  const plan = (): void => {
    if (timer !== null || stopped || (attempts.size === 0 && toErase.length === 0)) return;
    timer = startTimer(() => {
      timer = null;
      writing = write();
    }, SHOWN_AFTER).unref();
  };

  return {
    began: ({ id, shard }: { readonly id: number; readonly shard: number }, epoch: number): void => {
      attempts.set(id, { shard, epoch, since: clock.now(), begun: clock.monotonic(), isNoted: false });
      plan();
    },
    ended: (delivery: number): void => {
      if (attempts.get(delivery)?.isNoted) toErase.push(delivery);
      attempts.delete(delivery);
    },
    /** Attempts under way. */
    get count() {
      return attempts.size;
    },
    stop: async (): Promise<void> => {
      stopped = true;
      if (timer !== null) clearTimeout(timer);
      await writing;
      if (toErase.length > 0) await endUnderWay(sql, toErase).catch(() => undefined);
    },
  };
}
