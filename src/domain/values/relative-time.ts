/** Moments as people say them. */

import { humanDuration } from './duration.ts';
import { DAY, HOUR, type Instant, MINUTE, SECOND } from './time.ts';

/** How long ago, or in how long, in the unit that matters: `3 min ago`, `in 12 s`, `now`, `never`. */
export function relative(at: Instant | null, now: Instant): string {
  if (at === null) return 'never';
  const distance = Math.abs(now - at);
  if (distance < SECOND) return 'now';
  const unit = [DAY, HOUR, MINUTE, SECOND].find((length) => distance >= length)!;
  const rounded = humanDuration(Math.floor(distance / unit) * unit);
  return at <= now ? `${rounded} ago` : `in ${rounded}`;
}
