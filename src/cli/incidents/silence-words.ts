/** Silences in a few words. */

import type { SilenceRow } from '../../actions/incidents/silences.ts';
import { untilText } from '../../domain/explain/standing.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';

/** The incidents that a silence is about: `stuck waiting for the card provider at se`, `everything`. */
export function matterOf({ kind, site, state, subscriber }: SilenceRow): string {
  if (subscriber !== null) return `subscriber ${subscriber}`;
  if (kind === 'subscriber') return 'all subscribers';
  if (kind === 'replica') return 'replicas of the daemon';
  const what = kind === 'unreachable' ? 'no answer' : kind === 'stuck' || state !== null ? 'stuck' : null;
  const where = [...(state === null ? [] : [statePlace(state)]), ...(site === null ? [] : [`at ${site}`])];
  if (what === null) return site === null ? 'everything' : `everything ${where.join(' ')}`;
  return [what, ...where, ...(site === null ? ['at all sites'] : [])].join(' ');
}

/** From when and until when a silence lasts, as far as that is to come. */
export function spanOf({ startsAt, endsAt }: SilenceRow, now: Instant): string {
  const from = isoTime(startsAt).slice(0, 19);
  if (endsAt <= now) return `${from}Z until ${isoTime(endsAt).slice(0, 19)}Z`;
  return startsAt <= now ? `until ${untilText(endsAt, now)}` : `from ${from}Z until ${isoTime(endsAt).slice(0, 19)}Z`;
}
