/** Counts, for ended incidents of stuck purchases, how many came and paid, beside the same hours of the days before. */

import { type SiteCounts, usualTimes } from '../../domain/trends/aftermath.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { cameBetween, nextToCount, otherTimes, placesToCount, saveCounts } from '../../postgres/trends/aftermaths.ts';

/** Purchases that are looked at for the time of the incident; where more were registered, nothing is reckoned. */
const MOST = 10_000;
/** Purchases that are looked at for each of the days before: enough to know their share. */
const MOST_A_DAY = 1_000;

/** Counts one incident, if one is to be counted; answers whether one was. */
export async function countAftermath(sql: Queries, now: Instant): Promise<boolean> {
  const incident = await nextToCount(sql, now);
  if (incident === null) return false;
  const counts: SiteCounts[] = [];
  for (const place of await placesToCount(sql, incident)) {
    const { came, isComplete } = await cameBetween(sql, { ...place, most: MOST });
    counts.push({ ...place, came, isComplete, usual: await usualOf(sql, incident, place) });
  }
  await saveCounts(sql, { incident, at: now, counts });
  return true;
}

/** How many came, and paid, in the same hours of the days before, but for days on which another incident was there. */
async function usualOf(sql: Queries, incident: string, place: Pick<SiteCounts, 'site' | 'states' | 'from' | 'until'>) {
  const times = usualTimes(place);
  const others = await otherTimes(sql, { incident, ...place, since: times.at(-1)!.from });
  const calm = times.filter((time) => others.every(({ from, until }) => until < time.from || from > time.until));
  const usual: SiteCounts['usual'][number][] = [];
  for (const time of calm) {
    const { came } = await cameBetween(sql, { ...place, ...time, most: MOST_A_DAY });
    const sum = (of: 'customers' | 'paid'): number => came.reduce((all, row) => all + row[of], 0);
    usual.push({ customers: sum('customers'), paid: sum('paid') });
  }
  return usual;
}
