/** Brings what is stored under the current SECRETS_KEY, a little at a time, once every daemon that lives knows that key. */

import { keyUse, resealSome, unawareOf } from '../../actions/subscribers/key-change.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import type { Deps } from '../deps.ts';

export type Resealing = ReturnType<typeof createResealing>;

/** While daemons come and go, others may still store under the old key. */
const LOOK_EVERY: Milliseconds = 60_000;
const LOOK_AGAIN: Milliseconds = 5_000;
const BETWEEN_BATCHES: Milliseconds = 50;

/** Does nothing where there is no previous key. For the one daemon that has the lease. */
export function createResealing({ sql, clock, log, secrets }: Pick<Deps, 'sql' | 'clock' | 'log'> & { secrets: Secrets | null }) {
  let lookAt: Milliseconds = Number.NEGATIVE_INFINITY;
  let after = 0;
  let resealed = 0;
  /** The fields of the last line, as JSON: the same line is logged once. */
  let logged = '';
  const isNew = (about: object): boolean => {
    const before = logged;
    logged = JSON.stringify(about);
    return logged !== before;
  };

  return {
    /** Does one batch; answers how long to rest, or null when nothing is left for now. */
    step: async (): Promise<Milliseconds | null> => {
      if (secrets === null || secrets.keyIds.length === 1 || clock.monotonic() < lookAt) return null;
      const unaware = await unawareOf(sql, secrets);
      if (unaware.length > 0) {
        const advice = 'restart these daemons with the new SECRETS_KEY, and the old one in SECRETS_KEY_PREVIOUS';
        if (isNew(unaware)) log.info({ replicas: unaware, advice }, 'secrets.waiting');
        lookAt = clock.monotonic() + LOOK_AGAIN;
        return null;
      }
      const done = await resealSome(sql, secrets, after);
      resealed += done.resealed;
      after = done.next ?? 0;
      if (done.next !== null) return BETWEEN_BATCHES;
      if (resealed > 0) log.info({ subscribers: resealed }, 'secrets.resealed');
      resealed = 0;
      const use = await keyUse(sql, secrets);
      if (use.previous === 0 && isNew(use))
        log.info({ ...use, advice: 'take SECRETS_KEY_PREVIOUS away from every daemon' }, 'secrets.previous_unused');
      lookAt = clock.monotonic() + LOOK_EVERY;
      return null;
    },
  };
}
